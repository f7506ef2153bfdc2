"""The public name of `softfloat_ref.arrays.operations`: operations on arrays of codes."""

import sys

from softfloat_ref.arrays import operations

sys.modules[__name__] = operations
