"""The approximations of PTX as an NVIDIA H100 and an H200 have them: parabolas, found from all operands' results.

A row is c0:c1:c2. vectors/captures has digests of the captured results, for all 2^32 operands of FP32.
"""

from __future__ import annotations

from typing import Final

from softfloat_ref.oracle import exact
from softfloat_ref.oracle.exact import FINITE, GENERATED, INF, NAN, Value
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.operations.interpolation import (
    COS,
    EX2,
    LG2,
    RCP,
    RSQRT,
    SIN,
    SQRT,
    TANH,
    WIDTH,
    Interpolation,
    evaluated,
)
from softfloat_ref.oracle.operations.table import Context, Outcome, Standing, nan_operand, operation

_EMIN: Final = -126  # of FP32

_RCP: Final = """
    4000000:fffe:3f5 3f80fe2:fc0a:3dd 3f03f06:f82d:3c6 3e88cb5:f467:3b1 3e0f83e:f0b6:39b 3d980f8:ed1b:386
    3d22638:e995:373 3cae75a:e622:35f 3c3c3c4:e2c3:34d 3bcbade:df77:33b 3b5cc11:dc3d:329 3aef6cb:d914:317
    3a83a85:d5fd:306 3a196b4:d2f7:2f6 39b0ad3:d001:2e6 3949662:cd1b:2d7 38e38e5:ca44:2c7 387f1e2:c77c:2b8
    381c0e2:c4c3:2aa 37ba572:c218:29d 3759f23:bf7b:290 36fad89:bceb:282 369d037:ba69:277 36406ca:b7f3:26a
    35e50d9:b589:25d 358ae06:b32c:252 3531dee:b0da:246 34da036:ae94:23c 3483486:ac59:231 342da81:aa28:225
    33d91d5:a803:21c 3385a2b:a5e7:211 3333335:a3d6:207 32e1ca1:a1cf:1fe 3291620:9fd1:1f5 3241f6b:9ddc:1ea
    31f3833:9bf1:1e2 31a6034:9a0f:1da 3159724:9835:1d1 310dcc1:9664:1c9 30c30c5:949b:1c1 30792f1:92da:1b9
    3030305:9121:1b1 2fe80c2:8f70:1aa 2fa0bea:8dc6:1a2 2f5a443:8c24:19c 2f14992:8a88:193 2ecfb9e:88f4:18d
    2e8ba31:8767:186 2e48511:85e0:17f 2e05c0c:8460:179 2dc3ef0:82e7:173 2d82d85:8174:16e 2d4279c:8006:166
    2d02d04:7e9f:161 2cc3d8e:7d3e:15c 2c8590d:7be2:155 2c47f52:7a8d:151 2c0b02e:793c:14b 2bceb78:77f1:146
    2b93107:76ab:140 2b580b0:756b:13c 2b1da49:742f:136 2ae3da9:72f8:131 2aaaaac:71c7:12e 2a7212c:709a:129
    2a3a100:6f71:123 2a02a04:6e4d:11f 29cbc17:6d2e:11b 2995712:6c13:117 295fad6:6afc:112 292a73f:69ea:10f
    28f5c2b:68db:10a 28c197b:67d1:107 288df0e:66ca:102 285acc6:65c8:100 2828285:64c9:fb 27f602a:63ce:f8
    27c459a:62d6:f3 27932b6:61e2:f0 2762764:60f2:ed 2732388:6005:e9 2702705:5f1c:e7 26d31c1:5e35:e2 26a43a1:5d52:df
    2675c8d:5c73:de 2647c6b:5b96:da 261a322:5abc:d6 25ed09a:59e6:d4 25c04bb:5912:d0 2593f6b:5841:cd 2568098:5774:cc
    253c827:56a8:c7 2511604:55e0:c5 24e6a19:551b:c4 24bc450:5458:c1 2492494:5397:bd 2468ad1:52d9:ba 243f6f3:521e:b8
    24168e3:5165:b6 23ee092:50af:b4 23c5de9:4ffb:b2 239e0d7:4f49:af 237694a:4e9a:ad 234f72e:4ded:ab 2328a71:4d42:a9
    2302304:4c99:a6 22dc0d3:4bf3:a5 22b63ce:4b4e:a1 2290be4:4aac:a0 226b904:4a0c:9f 2246b1f:496d:9b 2222224:48d1:9a
    21fde04:4837:99 21d9eaf:479e:96 21b6418:4708:95 2192e2c:4673:93 216fcdf:45e0:91 214d024:454f:8f 212a7e8:44c0:8f
    2108423:4432:8c 20e64c4:43a6:8a 20c49bd:431c:89 20a3301:4293:87 2082084:420c:85 2061239:4187:84 2040811:4103:83
    2020203:4081:82
"""
_RSQRT: Final = """
    3fffffe:fffb:2f2 3f817ae:fa18:2d5 3f05d90:f46f:2ba 3e8cfe4:eefb:2a0 3e16d09:e9bb:288 3da336e:e4ab:271
    3d3219a:dfc9:25b 3cc3626:db13:246 3c56fbc:d687:232 3becd13:d222:21f 3b84cf5:cde4:20e 3b1ee40:c9c9:1fc
    3abafd3:c5d1:1ec 3a590a7:c1fa:1dc 39f8fb4:be42:1cd 399ac09:baa8:1be 393e4b7:b72b:1b1 38e38e4:b3ca:1a4
    388a7b1:b082:197 3833056:ad54:18b 37dd20b:aa3e:17f 3788c12:a73f:174 3735db6:a457:16a 36e464a:a184:160
    3694526:9ec5:156 36459ac:9c1a:14c 35f833c:9982:143 35ac145:96fc:13a 3561337:9487:131 3517889:9224:12a
    34cf0b5:8fd0:122 3487b41:8d8d:11b 34417af:8b58:113 33fc588:8932:10c 33b8457:871a:106 33753b5:850f:ff
    3333334:8311:f8 32f226d:8120:f2 32b20ff:7f3b:ec 3272e86:7d62:e7 3234aad:7b94:e1 31f7513:79d1:dc 31bad68:7819:d7
    317f356:766b:d2 314468c:74c7:cd 310a6bb:732d:c9 30d139b:719c:c4 3098cdd:7013:bf 306123f:6e94:bb 302a378:6d1d:b7
    2ff4048:6bae:b3 2fbe86f:6a48:b0 2f89bae:68e9:ac 2f559c6:6791:a8 2f2227e:6641:a5 2eef59b:64f8:a2 2ebd2e9:63b5:9e
    2e8ba30:6279:9a 2e5ab3b:6144:97 2e2a5d6:6015:94 2dfa9d1:5eec:91 2dcb6f9:5dc9:8f 2d9cd27:5cac:8c 2d6ec26:5b94:89
    2d413ca:b501:215 2ce7c63:b0d8:201 2c905a7:acd7:1ed 2c3ae56:a8fc:1db 2be754b:a546:1cb 2b9596d:a1b1:1ba
    2b459b2:9e3e:1ab 2af7515:9ae9:19c 2aaaaab:97b2:18e 2a5f988:9496:180 2a160d6:9196:173 29cdfbe:8eaf:167
    298757e:8be1:15c 2942153:8929:150 28fe288:8688:146 28bb876:83fd:13c 287a26c:8185:132 2839fd2:7f21:129
    27fb011:7cd0:120 27bd292:7a90:117 27806ca:7861:10f 2744c38:7643:107 270a258:7435:100 26d08b0:7235:f8
    2697ec8:7044:f1 266042f:6e61:eb 262987a:6c8c:e5 25f3b41:6ac3:de 25bec18:6907:d9 258aaa7:6756:d2 2557688:65b1:cd
    2524f68:6417:c7 24f34e8:6288:c3 24c26bd:6103:be 2492494:5f88:b9 2462e1b:5e16:b4 243430b:5cae:b0 240631a:5b4e:ab
    23d8e03:59f7:a7 23ac383:58a9:a3 2380355:5762:9f 2354d3e:5623:9b 232a0fe:54ec:98 22ffe5e:53bc:94 22d651f:5293:91
    22ad50f:5171:8e 2284df8:5055:8a 225cfa0:4f40:88 22359dc:4e31:85 220ec7a:4d28:82 21e874b:4c24:7e 21c2a1e:4b27:7c
    219d4c7:4a2f:7a 2178720:493c:77 21540f7:484e:75 213022d:4765:72 210ca94:4681:70 20e9a09:45a2:6e 20c7068:44c7:6b
    20a4d89:43f1:69 208314b:431f:67 2061b8a:4251:65 2040c28:4187:63 2020308:40c2:61
"""
_SQRT: Final = """
    2000000:ffff:1fa 203fc08:fe05:1ee 207f03f:fc16:1e2 20bdcd2:fa33:1d8 20fc1ed:f85a:1cd 2139fba:f68c:1c4
    2177661:f4c8:1bb 21b460a:f30d:1b2 21f0eda:f15b:1a8 222d0f5:efb3:1a1 2268c7f:ee13:198 22a419a:ec7b:18f
    22df067:eaeb:187 2319904:e964:181 2353b92:e7e3:178 238d82d:e66b:172 23c6ef3:e4f9:16b 2400000:e38e:165
    2438b6e:e22a:15f 2471158:e0cc:158 24a91d7:df74:151 24e0d04:de23:14c 25182f7:dcd7:145 254f3c7:db91:13f
    2585f8b:da51:13b 25bc659:d916:135 25f2846:d7e0:130 2628566:d6b0:12b 265ddcf:d584:126 2693193:d45e:122
    26c80c6:d33c:11d 26fcb7b:d21e:118 27311c2:d106:115 27653b0:cff1:110 2799153:cee1:10c 27ccabe:cdd5:109
    2800000:cccd:105 283312a:cbc8:ff 2865e4a:cac8:fc 2898770:c9cc:f9 28cacac:c8d2:f4 28fce0b:c7dd:f2 292eb9b:c6eb:ee
    296056a:c5fd:ec 2991b86:c511:e7 29c2dfb:c42a:e5 29f3cd7:c345:e2 2a24827:c263:de 2a54ff5:c185:dd 2a8544f:c0a9:d9
    2ab5540:bfd0:d6 2ae52d3:befa:d3 2b14d15:be26:cf 2b4440e:bd57:cf 2b737cc:bc88:ca 2ba2857:bbbd:c8 2bd15ba:baf5:c7
    2c00000:ba2e:c2 2c2e732:b96b:c2 2c5cb5a:b8a9:be 2c8ac81:b7ea:bc 2cb8ab0:b72e:bb 2ce65f2:b673:b8 2d13e4e:b5bb:b6
    2d413cd:b504:2ca 2d9b658:b39e:2b9 2df4dd4:b241:2ac 2e4da83:b0eb:29c 2ea5ca2:af9d:28f 2efd46c:ae56:281
    2f5421a:ad16:272 2faa5e4:abdd:265 3000000:aaaa:257 30550a0:a97e:24c 30a97f6:a858:241 30fd633:a738:237
    3150b85:a61d:22a 31a3818:a508:220 31f5c18:a3f8:213 32477b0:a2ee:20c 3298b08:a1e8:200 32e9646:a0e8:1f9
    3339993:9fec:1f0 3389513:9ef4:1e4 33d88ea:9e01:1dc 3427539:9d13:1d6 3475a26:9c28:1cb 34c37ce:9b42:1c5
    3510e53:9a5f:1bb 355ddd3:9981:1b7 35aa66d:98a6:1af 35f683e:97cf:1a9 3642363:96fb:1a1 368d7f8:962a:198
    36d8617:955d:191 3722ddb:9494:18f 376cf5d:93cd:187 37b6ab7:9309:17f 3800000:9249:17b 3848f51:918b:174
    38918c0:90d1:172 38d9c64:9019:16c 3921a54:8f63:164 39692a3:8eb1:161 39b0568:8e01:15c 39f72b8:8d53:155
    3a3daa4:8ca8:150 3a83d42:8bff:14a 3ac9aa4:8b59:147 3b0f2dd:8ab5:143 3b545fe:8a13:13d 3b9941a:8974:13c
    3bddd42:88d6:135 3c22187:883b:132 3c660f9:87a2:12f 3ca9baa:870a:129 3ced1a7:8675:126 3d30302:85e2:125
    3d72fc9:8550:11f 3db580b:84c0:11a 3df7bd6:8433:11a 3e39b3a:83a6:113 3e7b643:831c:111 3ebcd00:8293:10d
    3efdf7e:820c:10a 3f3edc9:8187:108 3f7f7f0:8103:105 3fbfdfe:8081:103
"""
_EX2: Final = """
    2000000:58b9:1ee 2059347:59b0:1f5 20b361b:5aaa:1fa 210e8a2:5ba7:1ff 216ab0f:5ca6:206 21c7d86:5da9:209
    2226039:5eae:20f 2285356:5fb6:214 22e5709:60c0:21d 2346b7e:61ce:222 23a90e5:62df:227 240c772:63f2:22f
    2470f4e:6509:234 24d68ad:6623:238 253d3c0:673f:241 25a50b6:685f:247 260dfc2:6982:24d 2678117:6aa8:254
    26e34e6:6bd2:258 274fb67:6cfe:261 27bd4c9:6e2e:267 282c145:6f61:26e 289c10b:7098:273 290d456:71d2:279
    297fb5a:730f:281 29f364e:7450:287 2a6856a:7594:28f 2ade8e7:76dc:295 2b560fb:7827:29e 2bcede2:7976:2a5
    2c48fd7:7ac8:2ae 2cc4710:7c1f:2b3 2d413cc:7d79:2bb 2dbf648:7ed7:2c1 2e3eebe:8038:2cb 2ebfd6a:819e:2d1
    2f4228e:8307:2da 2fc5e67:8474:2e3 304b134:85e5:2ec 30d1b33:875b:2f1 3159ca8:88d4:2fb 31e35d3:8a51:305
    326e6f7:8bd3:30b 32fb054:8d59:313 3389230:8ee3:31c 3418ccf:9071:326 34aa076:9204:32d 353cd6a:939b:336
    35d13f4:9536:341 3667457:96d6:34a 36feede:987b:351 37983d3:9a24:35a 383337d:9bd1:366 38cfe27:9d84:36d
    396e41c:9f3b:377 3a0e5aa:a0f7:380 3ab031d:a2b7:38d 3b53cc1:a47d:395 3bf92e7:a648:39d 3ca05dd:a817:3aa
    3d495f5:a9ec:3b2 3df437f:abc5:3bf 3ea0ecc:ada4:3c9 3f4f831:af88:3d4
"""
_LG2: Final = """
    0:b8a8:2d7 16e793:b5d1:2c1 2d75a9:b310:2ad 43ace3:b064:299 598fde:adcc:286 6f210b:ab47:273 8462c5:a8d5:262
    99574c:a674:250 ae00d4:a424:240 c2615e:a1e4:22f d67af1:9fb4:220 ea4f72:9d93:212 fde0b5:9b81:206 1113078:997c:1f8
    1244078:9784:1eb 137124d:9599:1df 149a782:93ba:1d2 15c01a4:91e7:1c7 16e221e:9020:1bd 1800a55:8e63:1b1
    191bba8:8cb2:1a9 1a3375c:8b0a:19e 1b47eba:896c:194 1c592f7:87d8:18c 1d6753b:864c:181 1e726a6:84ca:179
    1f7a853:8350:170 207fb4e:81df:169 218209b:8076:162 228193e:7f14:15a 237e623:7dba:153 2478837:7c67:14b
    2570066:7b1c:146 2664f89:79d7:13f 275767e:7898:137 2847610:7761:133 2934f09:762f:12c 2a2022f:7503:125
    2b09046:73de:121 2bef9fc:72be:11b 2cd400d:71a3:114 2db632a:708e:10f 2e963f9:6f7e:10a 2f74319:6e74:106
    3050136:6d6e:101 3129eea:6c6d:fd 3201cc2:6b71:f9 32d7b59:6a79:f4 33abb3d:6985:ee 347dcfc:6896:ea 354e11d:67ac:e8
    361c81f:66c5:e3 36e928f:65e2:df 37b40e0:6503:db 387d394:6428:d8 3944b1a:6350:d3 3a0a7e8:627d:d1 3acea76:61ac:cc
    3b91333:60df:c9 3c52281:6016:c7 3d118d6:5f4f:c3 3dcf68c:5e8c:c0 3e8bc0e:5dcc:bd 3f469bd:5d0f:ba
"""
_SINE: Final = """
    0:6489:e c90a7:6482:30 191f64:646a:4c 25aa3e:6444:6e 322f4a:640d:89 3eac9a:63c8:ab 4b203d:6373:c9 57884e:630e:e5
    63e2dd:629b:106 702e08:6218:124 7c67e4:6186:142 888e92:60e5:160 94a02f:6035:17d a09ae5:5f76:19a ac7cd1:5ea9:1b9
    b84426:5dcd:1d6 c3ef15:5ce2:1f1 cf7bcb:5be9:20d dae87f:5ae2:229 e63374:59cd:245 f15aea:58aa:260 fc5d24:577a:27d
    1073876:563c:298 111eb36:54f0:2b0 11c73b0:5398:2cb 126d054:5232:2e2 130ff7e:50c0:2fb 13affa2:4f42:316
    144cf2f:4db7:32c 14e6ca9:4c21:347 157d690:4a7e:35b 1610b72:48d0:371 16a09e5:4717:388 172d082:4553:39e
    17b5df2:4384:3b2 183b0df:41ab:3c7 18bc804:3fc8:3dc 193a226:3dda:3ec 19b3e02:3be4:401 1a29a79:39e4:413
    1a9b660:37db:423 1b090a7:35c9:432 1b72832:33b0:445 1bd7c09:318e:453 1c38b2c:2f65:463 1c954b0:2d34:470
    1ced7ae:2afc:47c 1d4134c:28be:48a 1d906bd:2679:494 1ddb13a:242f:4a1 1e2120e:21df:4ac 1e6288f:1f89:4b3
    1e9f416:1d2f:4bd 1ed7411:1ad0:4c4 1f0a7ed:186e:4ce 1f38f3c:1607:4d4 1f6297e:139d:4da 1f87650:1130:4df
    1fa7559:ec0:4e2 1fc2647:c4f:4ea 1fd88d9:9db:4ec 1fe9cdd:765:4ec 1ff621e:4ef:4ef 1ffd886:278:4f1
"""
_TANH: Final = """
    10000:4000:1 ffff:3fff:3 fffb:3ffd:d 3ffab:7fe2:29 5fee1:7fb9:37 3feab:7f86:9f 5fb83:7ee8:de feacd:fc14:22f
    13d6bb:f9e4:2a4 17b8fe:f740:316 1b8fd0:f42a:37b facbc:f0c4:815 135f93:e8a8:96c 16ef50:df37:a7e 1a5728:d4b3:b4e
    ec9a5:c973:1812 11bf4a:b13e:1890 14532d:9897:1796 168671:80f3:15a7 30be12:d68a:265f 33cbae:b02e:211e
    364a62:8f1a:1be8 384f2d:733d:1723 39ee08:5c26:12ea 3b38f1:4948:f52 3c3f8e:3a02:c48 3d0f1f:2dc4:9cd
    f6caa0:900a:1f25 f8ccc1:710e:1897 fa6005:5892:1355 fb9bcd:4552:f34 fc92d1:362e:be7 fd53d5:2a53:954
    fdea8f:2109:74b fe602d:19c7:5b4 febbee:141a:473 ff037a:fac:379 ff3b40:c37:2b5 ff66b9:985:21d ff8898:76b:1a5
    ffa2fd:5c7:147 ffb78d:480:fe ffc792:381:c5 3ff50c:293:1b6 3ffbf8:f3:a2 3ffe84:59:3a 3fff74:21:16 3fffcd:c:8
    3fffed:5:4 3ffff9:2:2 3ffffd:1:1
"""


def _rows(text: str) -> list[int]:
    rows = [[int(x, 16) for x in row.split(":")] for row in text.split()]
    return [c0 << 30 | c1 << 14 | c2 for c0, c1, c2 in rows]


def _approximation(name: str, summary: str, family: str, kind: int, rows: str, index_bits: int = 6) -> None:
    """Enter an approximation in the table of operations. family: of the function's."""
    unit = Interpolation(kind, lambda: _rows(rows), index_bits)
    standing = Standing("captured: NVIDIA H100 and H200, all 2^32", "none: a bound (PTX ISA)")
    pole = kind in (RCP, RSQRT, LG2)

    @operation(
        name,
        1,
        f"PTX: {summary}",
        rounds=True,
        pole=pole,
        nans=True,
        family=family,
        standing=standing,
        estimate=unit,
    )
    def compute(ctx: Context, a: Value) -> Outcome:
        if a.kind == NAN:
            return nan_operand(ctx.policy.nan_rule, (a,))[0], 0
        return _in_format(_result(unit, ctx, a), ctx.formats[0]), 0


def _result(unit: Interpolation, ctx: Context, a: Value) -> Value:
    if a.kind == INF or a.is_zero:
        return _at_end(unit.kind, a)
    if a.sign and unit.kind in (RSQRT, SQRT, LG2):
        return GENERATED
    top = exact.top(a)
    if unit.kind == EX2 and a.sign and exact.compare(a, _SMALLEST) < 0:
        return _tiny_power(unit, ctx, a, top)
    if unit.kind == LG2 and top < _EMIN:  # of a subnormal: of it times 2^24, less 24
        y = _finite(unit, a, top + 24)
        return exact.finite(1, y.significand + (24 << -y.exponent), y.exponent)
    return _finite(unit, a, top)


_SMALLEST: Final = exact.finite(1, 126, 0)


def _tiny_power(unit: Interpolation, ctx: Context, a: Value, top: int) -> Value:
    """2^a below the normal numbers, which are flushed or else the square of 2^(a / 2), as software makes it."""
    if ctx.policy.flush_outputs:
        return _finite(unit, a, top)
    y = _finite(unit, a, top - 1)
    if exact.top(y) < _EMIN:
        return exact.zero(0)
    return exact.finite(0, y.significand**2, 2 * y.exponent)


def _finite(unit: Interpolation, a: Value, top: int) -> Value:
    """The unit's result for the operand, with that exponent; an operand of more than 24 bits is cut."""
    more = WIDTH + 1 - a.significand.bit_length()
    aligned = a.significand << more if more >= 0 else a.significand >> -more
    sign, significand, at = evaluated(unit.kind, a.sign, top, aligned & ((1 << WIDTH) - 1), unit.rows)
    return exact.finite(sign, significand, at - WIDTH)


def _at_end(kind: int, a: Value) -> Value:
    """The result for a zero or an infinity."""
    zero = a.kind != INF
    if kind in (RCP, RSQRT):
        if zero:
            return exact.inf(a.sign)
        return GENERATED if kind == RSQRT and a.sign else exact.zero(a.sign)
    if kind == EX2:
        return exact.finite(0, 1, 0) if zero else exact.zero(0) if a.sign else exact.inf(0)
    if kind in (SIN, COS):
        return GENERATED if not zero else exact.zero(a.sign) if kind == SIN else exact.finite(0, 1, 0)
    if kind == TANH:
        return a if zero else exact.finite(a.sign, 1, 0)
    if not zero:
        return GENERATED if a.sign else a
    return a if kind == SQRT else exact.inf(1)


def _in_format(x: Value, fmt: Format) -> Value:
    """The result as a number of the operand's format, if that is narrower than FP32: cut, and infinite beyond it."""
    if x.kind != FINITE or x.is_zero:
        return x
    top = exact.top(x)
    if top > fmt.emax:
        return exact.inf(x.sign)
    cut = max(top, fmt.emin) - fmt.mantissa_bits - x.exponent
    if fmt.mantissa_bits >= WIDTH or cut <= 0:
        return x
    return exact.finite(x.sign, x.significand >> cut, x.exponent + cut)


_approximation("rcp_h100", "1 / a, rcp.approx", "reciprocal", RCP, _RCP, 7)
_approximation("rsqrt_h100", "1 / sqrt(a), rsqrt.approx", "reciprocal root", RSQRT, _RSQRT)
_approximation("sqrt_h100", "sqrt(a), sqrt.approx", "root", SQRT, _SQRT)
_approximation("ex2_h100", "2^a, ex2.approx", "exp", EX2, _EX2)
_approximation("lg2_h100", "log2(a), lg2.approx", "log", LG2, _LG2)
_approximation("sin_h100", "sin(a), sin.approx", "trigonometric", SIN, _SINE)
_approximation("cos_h100", "cos(a), cos.approx", "trigonometric", COS, _SINE)
_approximation("tanh_h100", "tanh(a), tanh.approx", "hyperbolic", TANH, _TANH)
