"""The public name of `softfloat_ref.arrays.affine`: affine integers over numpy arrays."""

import sys

from softfloat_ref.arrays import affine

sys.modules[__name__] = affine
