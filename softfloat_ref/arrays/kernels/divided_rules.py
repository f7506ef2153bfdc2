"""The fields of a divided.DividedPlan's rules, which its loops read."""

from typing import Final

RANGE: Final = 120  # quotients beyond 2^+-RANGE are limited to it
RULES: Final = 10  # fields of DividedPlan.rules:
FLUSH, ZERO_SCALE, NAN_SCALE, LOWEST, KIND, DROP, NAN_CODE, DIVIDE, SHIFT, NEGATE = range(RULES)
# flush subnormals; the scale of a block of zeros; that of a block with specials (-1: left to the oracle), and its
# elements' code; the least other scale; the kind of scales; the sign of zeros; whether elements are divided, not
# multiplied; mantissa bits that FP32 has and the scale lacks; whether -x is ~x + 1
QUOTIENT, POWER, RECIPROCAL = range(3)  # kinds of scales
KEEP, DROP_GIVEN, DROP_ALL = range(3)  # signs of zeros: as they are; none of zeros that were given; none
