"""An approximation as a combinational SystemVerilog module, and its table as a $readmemh file.

The module follows the definition step by step: what a simulator computes is what `approximated` gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from softfloat_ref.base.errors import Error, refuse
from softfloat_ref.oracle.approximation import SHARES, Approximation, Part
from softfloat_ref.oracle.approximation_steps import approximated
from softfloat_ref.oracle.codec import target
from softfloat_ref.oracle.formats import Format
from softfloat_ref.oracle.rounding import RNA, RNE, RTZ, goes_beyond
from softfloat_ref.oracle.steps import PLAIN
from softfloat_ref.rtl.module_ports import bit_literal

_ROUNDS_UP: Final = {RNE: "guard && (sticky || kept[0])", RNA: "guard", RTZ: "1'b0"}


def table_words(a: Approximation) -> list[int]:
    """The rows of the table as words, the constant lowest; positive operands first. An exponent that varies is above
    the coefficients, less the least one."""
    rows = []
    for part in a.parts:
        for i, row in enumerate(part.rows):
            word, at = 0, 0
            for c, width in zip(row, a.widths, strict=True):
                word |= (c & ((1 << width) - 1)) << at
                at += width
            rows.append(word | (part.exponent(i) - _least(a) if _exponent_bits(a) else 0) << at)
    return rows


def _least(a: Approximation) -> int:
    return min(x for p in a.parts for x in p.exponents)


def _exponent_bits(a: Approximation) -> int:
    return int(max(x for p in a.parts for x in p.exponents) - _least(a)).bit_length()


def word_bits(a: Approximation) -> int:
    """Bits of a word of the table."""
    return sum(a.widths) + _exponent_bits(a)


def memh_text(a: Approximation) -> str:
    """The table for $readmemh."""
    fields = [f"c{i}: {w} bits" for i, w in enumerate(a.widths)]
    fields += [f"exponent less {_least(a)}: {_exponent_bits(a)} bits"] if _exponent_bits(a) else []
    digits = -(-word_bits(a) // 4)
    lines = [f"// {a.name}: {len(table_words(a))} words of {word_bits(a)} bits, from the lowest: {', '.join(fields)}"]
    return "\n".join([*lines, *(f"{w:0{digits}x}" for w in table_words(a))]) + "\n"


def module_text(a: Approximation) -> str:
    """The module. Raises Error for formats or a rounding that it cannot have."""
    where = f"{a.name} in SystemVerilog"
    refuse(
        where,
        ("its formats need a sign, NaN and gradual subnormals", not all(map(_plain, (a.fmt, a.out)))),
        (f"no rounding {a.rounding}; it has rne, rna and rtz", int(a.policy.rounding) not in _ROUNDS_UP),
        ("symmetry complement needs one exponent for all rows", a.symmetry == "complement" and _exponent_bits(a) > 0),
    )
    if a.symmetry == "complement" and a.positive.small in SHARES:
        raise Error(f"{where}: symmetry complement needs a constant below the table, not a share of the operand")
    if not any(p.rows for p in a.parts):
        raise Error(f"{where}: its table is empty")
    sections = (_unpack(a), _address(a), _table(a), _polynomial(a), _outside(a), _rounding(a), _result(a))
    return "\n".join([*_header(a), *(line for part in sections for line in part), "endmodule"]) + "\n"


def _plain(fmt: Format) -> bool:
    return fmt.signed and fmt.nan in ("ieee", "top") and fmt.code_offset == 0 and not fmt.p3109


def _header(a: Approximation) -> Iterator[str]:
    rows = " and ".join(str(len(p.rows)) for p in a.parts)
    where = "equal parts of binades" if a.address == "code" else "equal width"
    yield "// SPDX-License-Identifier: 0BSD"
    yield "//"
    yield f"// {a.name}: {a.function or 'a function'} of {a.fmt.name}, result in {a.out.name}, rounded {a.rounding}."
    yield f"// {rows} segments of {where}; polynomials of degree {a.degree}; {a.table_bits} bits of table."
    yield "// Made by softfloat-ref approximate, from the definition of the same name."
    yield ""
    yield f"module {a.name} ("
    yield f"    input  logic [{a.fmt.width - 1}:0] a,"
    yield f"    output logic [{a.out.width - 1}:0] result"
    yield ");"


def _title(text: str) -> list[str]:
    return ["", f"  // {'-' * (74 - len(text))} {text}"]


def _unpack(a: Approximation) -> Iterator[str]:
    fmt, m = a.fmt, a.fmt.mantissa_bits
    last = fmt.width - 2
    nan = f"magnitude > {bit_literal(fmt.width - 1, fmt.inf_code)}" if fmt.nan == "ieee" else "&magnitude"
    yield from _title("unpack")
    yield f"  wire        sign      = a[{last + 1}];"
    yield f"  wire [{last}:0] magnitude = a[{last}:0];"
    yield f"  wire        is_nan    = {nan};"
    yield f"  wire [{fmt.exponent_bits - 1}:0]  field     = magnitude[{last}:{m}];"
    low = f", magnitude[{m - 1}:0]" if m else ""
    yield f"  wire [{m}:0] significand = {{field != 0{low}}};"
    yield "  // The exponent of the significand's last bit; subnormals have that of the least normal."
    yield f"  wire signed [15:0] last_place = (field == 0 ? 16'sd1 : 16'(field)) - 16'sd{fmt.bias + m};"


def _address(a: Approximation) -> Iterator[str]:
    yield from _title("address")
    bits = max(a.steps(max(p.after - 1, 0)).bit_length() for p in a.parts)
    if a.address == "code":
        yield f"  wire [{a.fmt.width - 2}:0] address = magnitude;"
        bits = a.fmt.width - 1
    else:
        bits = max(bits, a.fmt.mantissa_bits + 1) + 1
        yield f"  // The magnitude in units of 2^-{a.unit}, cut to an integer."
        yield f"  wire signed [15:0] up = last_place + 16'sd{a.unit};"
        yield f"  wire [{bits - 1}:0] address = up >= 0 ? {bits}'(significand) << up : {bits}'(significand) >> -up;"
    yield f"  wire [{bits - 1}:0] segment = address >> {a.shift};"
    distance = f"address[{a.shift - 1}:0]" if a.shift else "1'b0"
    yield f"  wire signed [{a.shift + 1}:0] d = {{1'b0, {distance}}};"


def _table(a: Approximation) -> Iterator[str]:
    yield from _title("table")
    width, at = word_bits(a), 0
    yield f"  logic [{width - 1}:0] word;"
    yield "  always_comb begin"
    yield "    word = 0;"
    listed = table_words(a)
    for number, part in enumerate(a.parts):
        choice = "" if len(a.parts) == 1 else f"if ({'sign' if number else '!sign'}) "
        if part.rows:
            yield f"    {choice}case (segment)"
            start = a.row(part.first)
            for i in range(len(part.rows)):
                yield f"      {start + i}: word = {bit_literal(width, listed[at + i])};"
            yield "      default: word = 0;"
            yield "    endcase"
        at += len(part.rows)
    yield "  end"
    at = 0
    for i, bits in enumerate(a.widths):
        yield f"  wire signed [{bits - 1}:0] c{i} = word[{at + bits - 1}:{at}];"
        at += bits
    if _exponent_bits(a):
        yield f"  wire signed [15:0] exponent = 16'(word[{width - 1}:{at}]) + {_number(16, _least(a))};"
    else:
        yield f"  wire signed [15:0] exponent = {_number(16, _least(a))};"


def _polynomial(a: Approximation) -> Iterator[str]:
    n = a.most_bits + 1
    yield from _title("polynomial")
    last = f"{n}'(c{a.degree})"
    yield f"  wire signed [{n - 1}:0] sum{a.degree} = {last};"
    for i in range(a.degree - 1, -1, -1):
        yield f"  wire signed [{n - 1}:0] sum{i} = ((sum{i + 1} * {n}'(d)) >>> {a.cuts[i]}) + {n}'(c{i});"
    total = "sum0"
    if a.symmetry == "complement":
        one = f"{n}'sd1 <<< {-_least(a)}"
        total = f"(sign ? ({one}) - sum0 : sum0)"
    yield f"  wire signed [{n - 1}:0] total = {total};"
    flip = " ^ sign" if a.symmetry == "odd" else ""
    yield f"  wire total_negative = total[{n - 1}]{flip};"
    yield f"  wire [{n - 1}:0] total_magnitude = total[{n - 1}] ? -total : total;"


def _outside(a: Approximation) -> Iterator[str]:
    """Which case an operand is: a part's table, a share of the operand, or a constant."""
    fmt = a.fmt
    yield from _title("outside the table")
    yield "  logic is_constant, is_share;"
    yield f"  logic [{a.out.width - 1}:0] constant;"
    yield "  logic signed [15:0] share;"
    yield "  always_comb begin"
    yield "    is_constant = 0;"
    yield "    is_share = 0;"
    yield "    constant = 0;"
    yield "    share = 0;"
    for negative in (0, 1):
        part = a.parts[negative if len(a.parts) > 1 else 0]
        yield f"    {'else ' if negative else ''}if ({'sign' if negative else '!sign'}) begin"
        for condition, text, magnitude in _choices(fmt, part):
            yield f"      if ({condition}) begin"
            if text in SHARES and magnitude != fmt.inf_code:
                yield "        is_share = 1;"
                yield f"        share = {_number(16, SHARES[text])};"
            else:
                code = approximated(PLAIN, a, magnitude | fmt.sign_bit * negative)
                yield "        is_constant = 1;"
                yield f"        constant = {bit_literal(a.out.width, code)};"
            yield "      end"
        yield "    end"
    yield "  end"


def _choices(fmt: Format, part: Part) -> Iterator[tuple[str, str, int]]:
    """A condition, what holds there, and a magnitude code of it; a later one overrides."""
    bits = fmt.width - 1
    if part.first > 0:
        yield f"magnitude < {bit_literal(bits, part.first)}", part.small, 0
    yield (
        f"magnitude >= {bit_literal(bits, part.after)}",
        part.large,
        part.after if part.after <= fmt.max_code else fmt.max_code,
    )
    if fmt.infinity:
        yield f"magnitude == {bit_literal(bits, fmt.inf_code)}", part.large, fmt.inf_code


def _rounding(a: Approximation) -> Iterator[str]:
    n, m, fmt = max(a.most_bits + 1, a.fmt.mantissa_bits + 1), a.out.mantissa_bits, a.out
    keep = n + m + 2
    share_sign = "sign && " + ("1'b1" if a.symmetry in ("none", "odd") else "1'b0")
    yield from _title("round")
    yield f"  wire [{n - 1}:0] size = is_share ? {n}'(significand) : {n}'(total_magnitude);"
    yield "  wire signed [15:0] place = is_share ? last_place + share : exponent;"
    yield f"  wire negative = is_share ? {share_sign} : total_negative;"
    yield "  logic signed [15:0] top, low, drop;"
    yield f"  logic [{keep - 1}:0] kept;"
    yield "  logic guard, sticky, up_one;"
    yield f"  logic [{keep + 15}:0] code;"
    yield "  always_comb begin"
    yield "    top = 0;"
    yield f"    for (int i = 0; i < {n}; i++) if (size[i]) top = 16'(i);"
    yield f"    low = top + place < {_number(16, fmt.emin)} ? {_number(16, fmt.emin)} : top + place;"
    yield f"    drop = low - {_number(16, m)} - place;  // bits below the last one that is kept"
    yield f"    kept = drop <= 0 ? {keep}'(size) << -drop : {keep}'(size) >> drop;"
    yield f"    guard = drop >= 1 && drop <= {n} && size[drop - 1];"
    yield "    sticky = 0;"
    yield f"    for (int i = 0; i < {n}; i++) if (i < drop - 1 && size[i]) sticky = 1;"
    yield f"    up_one = {_ROUNDS_UP[int(a.policy.rounding)]};"
    wide = f"{keep + 16}'"
    yield f"    code = ({wide}(low - {_number(16, fmt.emin)}) << {m}) + {wide}(kept) + {wide}(up_one);"
    yield "  end"


def _result(a: Approximation) -> Iterator[str]:
    fmt, t = a.out, target(a.out, a.policy)
    codes = ((t.largest_positive, t.beyond_positive), (t.largest_negative, t.beyond_negative))
    width = fmt.width
    beyond = [bit_literal(width, codes[i][goes_beyond(t.mode, i, t.odd_beyond)]) for i in (0, 1)]
    yield from _title("result")
    yield f"  wire [{width - 1}:0] beyond = negative ? {beyond[1]} : {beyond[0]};"
    yield f"  wire [{width - 1}:0] rounded = size == 0 ? {{negative, {width - 1}'d0}}"
    yield f"      : code > {keep_bits(a)}'d{fmt.max_code} ? beyond : {{negative, code[{width - 2}:0]}};"
    yield f"  assign result = is_nan ? {bit_literal(width, a.nan_code)} : is_constant ? constant : rounded;"
    yield ""


def keep_bits(a: Approximation) -> int:
    """Bits of the rounded code before it is known to fit."""
    return max(a.most_bits + 1, a.fmt.mantissa_bits + 1) + a.out.mantissa_bits + 18


def _number(width: int, value: int) -> str:
    return f"-{width}'sd{-value}" if value < 0 else f"{width}'sd{value}"
