"""The public name of `softfloat_ref.arrays.blocks`: block formats over numpy arrays."""

import sys

from softfloat_ref.arrays import blocks

sys.modules[__name__] = blocks
