"""RCPPS and RSQRTPS of AMD's Zen 4, whose results x86 leaves to the processor: captured, as tables.

The answers depend on the twelve leading bits of the fraction, of which the first eight choose a value, and the first
and last four what is taken from it.
"""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle.operations.estimate import Estimate
from softfloat_ref.oracle.operations.estimates.rows import estimate
from softfloat_ref.oracle.operations.table import Standing

BITS: Final = 12
PART: Final = 4  # bits of each of the three parts of the index

# A row for each value of the first four bits: 16 values by the next four bits, what is taken off by the last four.
_RCP: Final = """
    ffe fde fbf f9f f81 f62 f43 f25 f07 ee9 ecb eae e91 e74 e57 e3a : 00 02 03 05 07 09 0b 0d 0f 11 12 14 16 18 1a 1c
    e1c e00 de4 dc9 dad d92 d77 d5c d41 d26 d0c cf2 cd8 cbe ca4 c8b : 00 01 03 05 06 08 0a 0b 0d 0f 10 12 14 15 17 19
    c70 c57 c3e c25 c0d bf4 bdc bc4 bac b94 b7d b65 b4e b37 b20 b09 : 00 01 03 04 05 07 08 0a 0b 0d 0e 10 11 13 14 16
    af1 adb ac4 aae a98 a82 a6c a56 a41 a2b a16 a01 9ec 9d7 9c2 9ae : 00 01 02 04 05 06 08 09 0a 0c 0d 0e 10 11 12 14
    998 984 970 95c 948 934 920 90d 8f9 8e6 8d2 8bf 8ac 899 886 874 : 00 01 02 03 04 06 07 08 09 0b 0c 0d 0e 0f 11 12
    861 84f 83c 82a 818 806 7f4 7e2 7d0 7bf 7ad 79c 78a 779 768 757 : 00 01 02 04 05 06 07 08 09 0a 0b 0c 0e 0f 10 11
    745 734 724 713 702 6f2 6e2 6d1 6c1 6b1 6a1 691 681 672 662 652 : 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f
    642 633 623 614 605 5f6 5e7 5d8 5c9 5ba 5ac 59d 58f 580 572 563 : 00 01 02 03 04 05 05 06 07 08 09 0a 0b 0c 0d 0e
    555 547 538 52a 51d 50f 501 4f3 4e6 4d8 4ca 4bd 4b0 4a2 495 488 : 00 01 02 02 03 04 05 06 07 08 08 09 0a 0b 0c 0d
    47a 46d 460 453 447 43a 42d 420 414 407 3fb 3ee 3e2 3d6 3c9 3bd : 00 01 01 02 03 04 05 05 06 07 08 09 09 0a 0b 0c
    3b1 3a5 399 38d 381 375 369 35e 352 346 33b 32f 324 318 30d 302 : 00 01 02 02 03 04 04 05 06 07 07 08 09 0a 0a 0b
    2f6 2eb 2e0 2d5 2ca 2bf 2b4 2a9 29e 293 288 27e 273 269 25e 253 : 00 01 01 02 03 03 04 05 05 06 07 07 08 09 09 0a
    248 23e 234 229 21f 215 20b 201 1f6 1ec 1e2 1d8 1cf 1c5 1bb 1b1 : 00 00 01 02 02 03 03 04 05 05 06 07 07 08 08 09
    1a7 19e 194 18a 181 177 16e 164 15b 151 148 13f 136 12c 123 11a : 00 00 01 02 02 03 03 04 05 05 06 06 07 08 08 09
    110 107 0fe 0f5 0ec 0e3 0db 0d2 0c9 0c0 0b7 0af 0a6 09d 095 08c : 00 00 01 01 02 02 03 03 04 05 05 06 06 07 07 08
    084 07b 073 06a 062 05a 051 049 041 039 030 028 020 018 010 008 : 00 00 01 01 02 02 03 04 04 05 05 06 06 07 07 08
"""
_RSQRT: Final = """
    fff fef fdf fd0 fc0 fb0 fa1 f92 f82 f73 f64 f55 f46 f37 f28 f1a : 00 01 02 03 04 05 06 07 07 08 09 0a 0b 0c 0d 0e
    f0b efc eee edf ed1 ec3 eb5 ea7 e99 e8b e7d e6f e61 e54 e46 e39 : 00 01 02 03 03 04 05 06 07 08 09 0a 0a 0b 0c 0d
    e2b e1e e10 e03 df6 de9 ddc dcf dc2 db5 da9 d9c d8f d83 d76 d6a : 00 01 02 02 03 04 05 06 06 07 08 09 0a 0b 0b 0c
    d5d d51 d44 d38 d2c d20 d14 d08 cfc cf0 ce5 cd9 ccd cc2 cb6 cab : 00 01 02 02 03 04 04 05 06 07 07 08 09 0a 0a 0b
    c9e c93 c88 c7c c71 c66 c5b c50 c45 c3a c2f c24 c19 c0e c04 bf9 : 00 00 01 02 02 03 04 05 05 06 07 07 08 09 09 0a
    bee be4 bd9 bcf bc4 bba baf ba5 b9b b91 b86 b7c b72 b68 b5e b54 : 00 01 01 02 03 03 04 05 05 06 06 07 08 08 09 0a
    b4a b40 b36 b2c b22 b19 b0f b05 afc af2 ae9 adf ad6 acc ac3 aba : 00 00 01 02 02 03 03 04 04 05 06 06 07 08 08 09
    ab0 aa7 a9e a94 a8b a82 a79 a70 a67 a5e a55 a4c a43 a3b a32 a29 : 00 00 01 01 02 02 03 04 04 05 05 06 06 07 08 08
    a21 a18 a0f a07 9fe 9f6 9ed 9e5 9dc 9d4 9cb 9c3 9bb 9b2 9aa 9a2 : 00 01 01 02 02 03 03 04 04 05 05 06 06 07 07 08
    999 991 989 981 979 971 969 961 959 951 949 941 939 932 92a 922 : 00 00 01 01 02 02 03 03 04 04 05 05 06 06 07 07
    91a 912 90b 903 8fb 8f4 8ec 8e5 8dd 8d6 8ce 8c7 8bf 8b8 8b1 8a9 : 00 00 01 01 02 02 03 03 03 04 04 05 05 06 06 07
    8a2 89b 894 88d 885 87e 877 870 869 862 85b 854 84d 846 83f 838 : 00 01 01 02 02 02 03 03 04 04 05 05 06 06 06 07
    830 829 822 81c 815 80e 807 800 7fa 7f3 7ec 7e6 7df 7d8 7d2 7cb : 00 00 01 01 01 02 02 03 03 03 04 04 05 05 06 06
    7c5 7be 7b8 7b1 7ab 7a4 79e 797 791 78b 784 77e 778 771 76b 765 : 00 00 01 01 02 02 02 03 03 04 04 04 05 05 05 06
    75e 758 752 74c 746 740 73a 733 72d 727 721 71b 715 70f 709 703 : 00 00 01 01 01 02 02 03 03 03 04 04 05 05 05 06
    6fd 6f7 6f1 6eb 6e5 6e0 6da 6d4 6ce 6c8 6c3 6bd 6b7 6b1 6ac 6a6 : 00 00 00 01 01 01 02 02 03 03 03 04 04 04 05 05
    6a0 695 68a 67e 673 669 65e 653 648 63d 633 628 61d 613 608 5fe : 00 01 01 02 03 03 04 05 05 06 07 07 08 09 09 0a
    5f3 5e9 5df 5d4 5ca 5c0 5b6 5ac 5a2 599 58f 585 57b 572 568 55f : 00 00 01 02 02 03 03 04 05 05 06 07 07 08 09 09
    555 54b 542 539 52f 526 51d 514 50b 502 4f9 4f0 4e7 4de 4d5 4cc : 00 00 01 02 02 03 03 04 04 05 06 06 07 07 08 08
    4c3 4bb 4b2 4a9 4a1 498 490 487 47f 477 46e 466 45e 455 44d 445 : 00 00 01 02 02 03 03 04 04 05 05 06 06 07 07 08
    43d 435 42d 425 41d 415 40d 405 3fd 3f5 3ee 3e6 3de 3d7 3cf 3c8 : 00 00 01 01 02 02 03 03 04 04 05 05 06 06 07 07
    3c0 3b9 3b1 3aa 3a2 39b 394 38c 385 37e 377 36f 368 361 35a 353 : 00 01 01 01 02 02 03 03 04 04 05 05 06 06 06 07
    34c 345 33e 337 330 329 322 31b 315 30e 307 300 2fa 2f3 2ec 2e6 : 00 00 01 01 02 02 02 03 03 04 04 05 05 05 06 06
    2df 2d9 2d2 2cc 2c5 2bf 2b8 2b2 2ac 2a5 29f 299 292 28c 286 280 : 00 00 01 01 02 02 02 03 03 04 04 04 05 05 06 06
    279 273 26d 267 261 25b 255 24f 249 243 23d 237 231 22b 225 220 : 00 00 00 01 01 02 02 02 03 03 03 04 04 05 05 05
    21a 214 20e 209 203 1fd 1f7 1f2 1ec 1e7 1e1 1db 1d6 1d0 1cb 1c5 : 00 00 01 01 01 02 02 02 03 03 03 04 04 04 05 05
    1c0 1bb 1b5 1b0 1aa 1a5 1a0 19a 195 190 18a 185 180 17b 176 170 : 00 00 01 01 01 02 02 02 03 03 03 04 04 04 05 05
    16b 166 161 15c 157 152 14d 148 143 13e 139 134 12f 12a 125 120 : 00 01 01 01 02 02 02 03 03 03 04 04 04 04 05 05
    11a 116 111 10c 107 102 0fd 0f9 0f4 0ef 0ea 0e6 0e1 0dc 0d8 0d3 : 00 00 00 01 01 01 02 02 02 02 03 03 03 04 04 04
    0ce 0ca 0c5 0c1 0bc 0b7 0b3 0ae 0aa 0a5 0a1 09c 098 093 08f 08b : 00 00 00 01 01 01 02 02 02 02 03 03 03 04 04 04
    086 082 07d 079 075 070 06c 068 063 05f 05b 057 052 04e 04a 046 : 00 00 01 01 01 01 02 02 02 02 03 03 03 03 04 04
    041 03d 039 035 031 02d 029 024 020 01c 018 014 010 00c 008 004 : 00 00 01 01 01 01 02 02 02 02 03 03 03 03 04 04
"""


def _entries(rows: str) -> list[int]:
    """The values less what is taken off."""
    entries = []
    for row in rows.strip().splitlines():
        values, taken = ([int(x, 16) for x in part.split()] for part in row.split(":"))
        entries += [value - off for value in values for off in taken]
    return entries


_STANDING: Final = Standing("captured: AMD EPYC 9004 (Zen 4), all 2^32", "none: a bound of 1.5 * 2^-12 (Intel SDM)")

estimate(
    "rcpps_zen4",
    "x86: 1 / a, RCPPS as AMD's Zen 4 has it",
    _STANDING,
    Estimate(root=False, index_bits=BITS, bits=BITS, make=lambda: _entries(_RCP), flushed=True, silent=True),
)
estimate(
    "rsqrtps_zen4",
    "x86: 1 / sqrt(a), RSQRTPS as AMD's Zen 4 has it",
    _STANDING,
    Estimate(root=True, index_bits=BITS, bits=BITS, make=lambda: _entries(_RSQRT), flushed=True, silent=True),
)
