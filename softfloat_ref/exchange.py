"""The public name of `softfloat_ref.arrays.exchange`: codes as arrays of ml_dtypes and numpy, and tensors of torch."""

import sys

from softfloat_ref.arrays import exchange

sys.modules[__name__] = exchange
