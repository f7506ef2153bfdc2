"""x86's VRCP14 and VRSQRT14 (AVX-512F), whose results are the same on all processors.

The 16 leading bits of the fraction find the estimate: the six above choose a line, the ten below are the distance along
it. The 64 lines of each follow from the answers for all operands: no others give them (Intel publishes a program).
"""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle.operations.estimate import Estimate
from softfloat_ref.oracle.operations.estimates.rows import estimate
from softfloat_ref.oracle.operations.table import Standing

BITS: Final = 16
_ALONG: Final = 10  # bits along a line

# Where a line begins, in units of 1/4, and how far it falls in 512 steps.
_RCP: Final = """
    3fff2:3f1 3e06c:3d1 3c1e4:3b5 3a440:399 38776:37d 36b8e:365 35066:34b 3360c:335 31c64:31d 30378:309 2eb30:2f3
    2d394:2df 2bc98:2cd 2a636:2bb 29062:2a9 27b18:297 2665e:287 25222:277 23e6c:269 22b26:259 2185a:24b 205fe:23d
    1f414:231 1e28a:223 1d16c:217 1c0b0:20b 1b05a:201 1a054:1f5 190ae:1eb 1815a:1df 1725c:1d5 163ae:1cb 15554:1c3
    1473e:1b9 13978:1b1 12bf0:1a7 11eb4:19f 111ba:197 10500:18f 0f886:187 0ec50:181 0e04a:179 0d482:171 0c8f6:16b
    0bda2:165 0b27a:15d 0a78c:157 09cd0:151 09246:14b 087ea:145 07dbc:13f 073c4:13b 069ec:135 06042:12f 056c8:12b
    04d6e:125 04444:121 03b3e:11d 0325a:117 029a6:113 02112:10f 0189e:10b 0104a:107 00816:103
"""
_RSQRT: Final = """
    3ffe9:3e9 3e0a1:3bb 3c2c5:393 3a632:36d 38ace:349 37087:327 3574d:307 33f11:2eb 327ba:2cf 31141:2b5 2fb97:29d
    2e6b4:287 2d282:271 2befa:25b 2ac1f:249 299db:237 28827:225 27703:215 2665f:205 25638:1f5 2468d:1e7 23753:1d9
    22888:1cd 21a23:1c1 20c1f:1b5 1fe7b:1a9 1f136:19f 1e43e:193 1d79f:189 1cb56:181 1bf4f:177 1b39a:16f 1a815:2c3
    191f9:2a3 17cdc:287 168a4:26b 1554c:253 142b7:23b 130e1:225 11fb9:20f 10f3d:1fd 0ff5b:1eb 0f005:1d9 0e13d:1c9
    0d2f5:1b9 0c52a:1ab 0b7d1:19d 0aaeb:191 09e67:185 09243:179 0867f:16d 07b19:163 07003:159 0653e:14f 05ac4:145
    05098:13d 046b2:135 03d0d:12d 033a7:125 02a7e:11d 02195:117 018dd:10f 01060:109 00816:103
"""


def _points(lines: str) -> list[int]:
    """Every point of the lines, cut to an integer."""
    numbers = [[int(x, 16) for x in line.split(":")] for line in lines.split()]
    return [((start << 7) - fall * d) >> 9 for start, fall in numbers for d in range(1 << _ALONG)]


_STANDING: Final = Standing(
    "a processor with AVX-512: fp32 all 2^32, fp64 samples; DAZ and FTZ", "Intel SDM; Intel article 671685"
)

estimate(
    "vrcp14",
    "x86: 1 / a, relative error below 2^-14",
    _STANDING,
    Estimate(root=False, index_bits=BITS, bits=BITS, make=lambda: _points(_RCP), exact=True, silent=True),
)
estimate(
    "vrsqrt14",
    "x86: 1 / sqrt(a), relative error below 2^-14",
    _STANDING,
    Estimate(root=True, index_bits=BITS - 1, bits=BITS, make=lambda: _points(_RSQRT), exact=True, silent=True),
)
