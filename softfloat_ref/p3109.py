"""The public name of `softfloat_ref.oracle.formats.meta`: IEEE P3109's operations on formats, and their names."""

import sys

from softfloat_ref.oracle.formats import meta

sys.modules[__name__] = meta
