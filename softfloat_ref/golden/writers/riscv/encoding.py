"""RISC-V instructions as text and as 32 bits.

Sources: RISC-V Unprivileged ISA, chapters "F", "D", "Zfh", "BF16" and "V"; drafts of Zvfofp8min, 0.2.1, and Zvfbfa, 0.1
(altfmt). Opcodes: github.com/riscv/riscv-opcodes, rv_f, rv_d, rv_zfh, rv_zfhmin, rv_d_zfhmin, rv_zfbfmin, rv_v,
rv_zvfbfmin, rv_zvfbfwma, unratified/rv_zvfofp8min.
"""

from __future__ import annotations

from typing import Final, NamedTuple

DYNAMIC: Final = 7  # rm: round as frm says
VECTORS: Final = 1  # funct3 of OP-V: floating point, two vectors
_OP_FP: Final = 0x53
_OP_V: Final = 0x57
_UNMASKED: Final = 1 << 25
_SEW: Final = {8: 0, 16: 1, 32: 2, 64: 3}
_ALTFMT: Final = 1 << 8  # in vtype (Zvfbfa, Zvfofp8min)
_AGNOSTIC: Final = 3 << 6  # tail and mask


class Instruction(NamedTuple):
    """An instruction. plain: whether an assembler for RV64GCV accepts the text."""

    text: str
    code: int
    plain: bool = True

    def line(self) -> str:
        """A line of assembly: the text, or the encoding where an assembler may not know the text."""
        return self.text if self.plain else f".4byte 0x{self.code:08x} /* {self.text} */"


def op_fp(funct5: int, fmt: int, rs2: int, rs1: int, rm: int, rd: int) -> int:
    """OP-FP: arithmetic, comparisons and conversions of F, D and Zfh. fmt: 0 is S, 1 is D, 2 is H."""
    return funct5 << 27 | fmt << 25 | rs2 << 20 | rs1 << 15 | rm << 12 | rd << 7 | _OP_FP


def r4(opcode: int, fmt: int, rs3: int, rs2: int, rs1: int, rd: int) -> int:
    """The four fused multiply-adds, rounding as frm says."""
    return rs3 << 27 | fmt << 25 | rs2 << 20 | rs1 << 15 | DYNAMIC << 12 | rd << 7 | opcode


def op_v(funct6: int, vs2: int, vs1: int, vd: int) -> int:
    """OP-V with two vectors of floats (OPFVV), unmasked; in unary instructions vs1 selects the function."""
    return funct6 << 26 | _UNMASKED | vs2 << 20 | vs1 << 15 | VECTORS << 12 | vd << 7 | _OP_V


def vsetvli(rd: str, rs1: str, sew: int, lmul: int = 1, altfmt: bool = False) -> Instruction:
    """vsetvli with tail and mask agnostic. rd, rs1: zero, a5 or a6. Assemblers do not know altfmt yet."""
    numbers = {"zero": 0, "a5": 15, "a6": 16}
    vtype = (_ALTFMT if altfmt else 0) | _AGNOSTIC | _SEW[sew] << 3 | lmul.bit_length() - 1
    code = vtype << 20 | numbers[rs1] << 15 | 7 << 12 | numbers[rd] << 7 | _OP_V
    text = f"vsetvli {rd}, {rs1}, e{sew}{'alt' if altfmt else ''}, m{lmul}, ta, ma"
    return Instruction(text, code, not altfmt)
