"""Dot products: codes in, bits and flags out. Operands are split into steps; a step's result is the next one's c."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.oracle import exact
from softfloat_ref.oracle.accumulate.catalogue import ACCUMULATORS
from softfloat_ref.oracle.accumulate.evaluate import TreeEvaluator
from softfloat_ref.oracle.accumulate.model import Accumulator
from softfloat_ref.oracle.accumulate.terms import (
    ONE,
    Scale,
    Term,
    decode_scale,
    holds,
    number,
    operand_decoder,
    product,
    times,
)
from softfloat_ref.oracle.blocks.formats import BlockFormat, any_format
from softfloat_ref.oracle.blocks.profiles import get_profile
from softfloat_ref.oracle.blocks.tensor_scales import FP32_ONE, tensor_scale_code
from softfloat_ref.oracle.codec import FLAGS, Encoded, check_code, decoder
from softfloat_ref.oracle.formats import Format, get_format
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.oracle.rounding_steps import destination, read, rounded
from softfloat_ref.oracle.steps import PLAIN, Do, step

DEFAULT_BLOCK: Final = 32
MAX_PRODUCTS: Final = 1 << 24
_ADD_C: Final = "write c among its terms, as fuse(16+c,F=25,rz)->fp32:rz"


@dataclass(frozen=True)
class Operand:
    """A vector of checked codes. scales: one code per block of `size` elements, or none.

    size: zero or negative for one scale for the whole vector. tensor: FP32 code of a second-level scale.
    """

    fmt: Format
    codes: tuple[int, ...]
    scale_fmt: Format | None = None
    scales: tuple[int, ...] = ()
    size: int = 0
    tensor: int = FP32_ONE

    @property
    def block(self) -> int:
        """Elements per scale; 0 if there are no scales."""
        if self.scale_fmt is None:
            return 0
        return self.size if self.size > 0 else len(self.codes)

    def factor(self, position: int) -> Scale:
        """The scale of the block that contains a position, times the second-level scale."""
        if self.scale_fmt is None:
            return ONE
        block = decode_scale(self.scales[position // self.block], self.scale_fmt)
        return block if self.tensor == FP32_ONE else times(block, decode_scale(self.tensor, get_format("fp32")))


@dataclass(frozen=True)
class Accumulation:
    """A dot product with everything resolved except the operands' values."""

    accumulator: Accumulator
    formats: tuple[Format, Format]
    c: Format
    result: Format  # the format of the running result
    out: Format
    block: int


def operand(
    codes: Any, fmt: str | Format | BlockFormat | None, scales: Any, name: str, tensor_scale: Any = None
) -> Operand:
    """An Operand from codes and a format, or from a BlockArray, which has its own scales. Raises Error.

    scales: for a block format, one code for each of its blocks; else None. tensor_scale: the value of a second-level
    scale, an FP32 number; a format that has one needs it.
    """
    profile: Any = None
    if all(hasattr(codes, x) for x in ("codes", "scales", "fmt", "axis")):
        if getattr(codes.codes, "ndim", 1) != 1:
            raise Error(f"{name}: a block array of {codes.codes.ndim} dimensions; a dot product takes vectors")
        if not (fmt is scales is tensor_scale is None):
            raise Error(f"{name}: a block array has its own format and scales; leave out those of {name}")
        profile, tensor_scale = getattr(codes, "profile", None), getattr(codes, "tensor_scale", None)
        fmt, scales, codes = codes.fmt, codes.scales, codes.codes
    if fmt is None:
        raise Error(f"{name}: the codes have no format; give one")
    resolved = any_format(fmt)
    check_rows(resolved, name)
    element = resolved.element if isinstance(resolved, BlockFormat) else resolved
    listed = _sequence(codes, name)
    if len(listed) > MAX_PRODUCTS:
        raise Error(f"{name}: {len(listed)} codes; a dot product takes at most {MAX_PRODUCTS}")
    numbers = _checked(listed, element, name)
    if not isinstance(resolved, BlockFormat):
        if scales is not None or tensor_scale is not None:
            raise Error(f"{name}: {resolved.name} has no block scales; give a block format, such as mxfp8")
        return Operand(resolved, numbers)
    if scales is None:
        raise Error(f"{name}: {resolved.name} needs its scales, one code for each block of {resolved.size_name}")
    factors = _checked(_sequence(scales, f"{name}'s scales"), resolved.scale, f"{name}'s scales")
    blocks = -(-len(numbers) // resolved.size) if resolved.size > 0 else 1
    if len(factors) != blocks:
        raise Error(
            f"{name}: {len(factors)} scales for {len(numbers)} elements of {resolved.name}, which make {blocks}"
        )
    if tensor_scale is None and (profile or get_profile(resolved.profile)).two_levels:
        raise Error(
            f"{name}: {resolved.name} has a scale for the tensor besides those of blocks; give it, or 1.0 to leave it"
            " out"
        )
    tensor = FP32_ONE if tensor_scale is None else tensor_scale_code(tensor_scale, f"{name}: a tensor scale")
    return Operand(element, numbers, resolved.scale, factors, resolved.size, tensor)


def check_rows(fmt: Format | BlockFormat, name: str) -> None:
    """Raise Error for a format whose blocks have several rows."""
    if isinstance(fmt, BlockFormat) and fmt.rows > 1:
        raise Error(f"{name}: a dot product takes blocks of one row, not of {fmt.rows}: {fmt.name}")


def _checked(codes: Sequence[Any], fmt: Format, name: str) -> tuple[int, ...]:
    """The codes as plain integers. Raises Error, naming the vector."""
    try:
        return tuple(check_code(x, fmt) for x in codes)
    except Error as e:
        raise Error(f"{name}: {e}") from None


def _sequence(codes: Any, name: str) -> Sequence[Any]:
    if hasattr(codes, "tolist"):
        codes = codes.tolist()
    if not isinstance(codes, Sequence) or isinstance(codes, (str, bytes)):
        raise Error(f"{name} is a sequence of codes, not {str(codes)[:40]!r}")
    return codes


def setting(
    a: Operand, b: Operand, accumulator: Accumulator, out: Format, c: Format | None = None, *, extrapolate: bool = False
) -> Accumulation:
    """Resolve everything except the values. Raises Error if operands, formats and accumulator do not fit together.

    extrapolate: accept operand formats that the unit does not support.
    """
    if len(a.codes) != len(b.codes):
        raise Error(f"a has {len(a.codes)} elements, b has {len(b.codes)}; a dot product needs the same number of both")
    if not a.codes:
        raise Error("a dot product needs at least one element of each operand")
    for fmt in (a.fmt, b.fmt, out, *([] if c is None else [c])):
        fmt.needs_hidden("dot products")
    for x in (a, b):
        if accumulator.operand_formats and x.fmt.name not in accumulator.operand_formats and not extrapolate:
            has, others = ", ".join(accumulator.formats.split()), _other_units(accumulator, a, b)
            raise Error(
                f"{accumulator.name} multiplies {has}, not {x.fmt.name}; {others}--extrapolate (extrapolate=True) "
                "applies the model beyond what the unit does"
            )
        if x.scale_fmt is not None and accumulator.scales == "none" and not extrapolate:
            others = _other_units(accumulator, a, b)
            raise Error(f"{accumulator.name} takes no block scales; {others}use mx-fp32 or exact, or dequantize")
        if x.tensor != FP32_ONE and accumulator.scales != "any" and not extrapolate:
            raise Error(f"{accumulator.name} takes no second-level scales; multiply its result by them")
        wide = accumulator.operand_format
        if wide is not None and not holds(wide, x.fmt) and not extrapolate:
            raise Error(
                f"{accumulator.name} holds its operands in {wide.name}, which does not have all of {x.fmt.name}"
            )
    result = accumulator.result_format(out)
    complete = Accumulation(accumulator, (a.fmt, b.fmt), out if c is None else c, result, out, _block(a, b))
    _check_steps(complete, len(a.codes))
    return complete


def _other_units(unit: Accumulator, a: Operand, b: Operand) -> str:
    """Which units multiply such operands: those of the same chip, else of the same vendor; '' if none does."""
    scaled = a.scale_fmt is not None or b.scale_fmt is not None
    able = [
        name
        for name, other in ACCUMULATORS.items()
        if {a.fmt.name, b.fmt.name} <= other.operand_formats and not (scaled and other.scales == "none")
    ]
    words = unit.name.split("-")
    for length in (2, 1):
        if names := [name for name in able if name.split("-")[:length] == words[:length]]:
            return f"units of {'-'.join(words[:length])} that do: {', '.join(names)}; "
    return ""


def _check_steps(s: Accumulation, count: int) -> None:
    """Raise Error if the products take several steps but the tree does not pass the running result on."""
    size = s.accumulator.step_for(s.formats, s.result, s.block, count)
    if count > size and not s.accumulator.adds_c:
        raise Error(
            f"{_named(s)} does not add c, the running result; of {-(-count // size)} steps only the last would "
            f"count; {_ADD_C}, or give at most {size} products"
        )


def check_c(s: Accumulation, c: int) -> int:
    """c, if the accumulator adds it, or if it is +0, which has no effect. Raises Error otherwise."""
    if c and not s.accumulator.adds_c:
        raise Error(f"{_named(s)} does not add c, so {s.c.hex(c)} would be lost; {_ADD_C}, or give no c")
    return c


def _named(s: Accumulation) -> str:
    return f"accumulator {s.accumulator.name[:60]!r}"


def _block(a: Operand, b: Operand) -> int:
    sizes = {x.block for x in (a, b) if x.block} or {DEFAULT_BLOCK}
    small, large = min(sizes), max(sizes)
    if large % small and large < len(a.codes):
        raise Error(f"blocks of {small} do not divide blocks of {large}")
    return small


@step("block factor", "factor")
def block_factor(x: Operand, position: int) -> Scale:
    """The scale of the block that contains a position."""
    return x.factor(position)


@step("products", "terms")
def in_order(terms: list[Term]) -> list[Term]:
    """The products in the order in which they are added."""
    return terms


def products(s: Accumulation, a: Operand, b: Operand, do: Do = PLAIN) -> list[Term]:
    """The terms of all products, in order."""
    unit = s.accumulator
    decode_a, decode_b = (unit.decoder(f) for f in s.formats)
    shift = s.formats[0].mantissa_bits + s.formats[1].mantissa_bits
    limit = None if unit.product_limit == "" else int(unit.product_limit)
    fixed = Scale(ONE.value._replace(exponent=unit.product_exponent), unit.product_exponent)
    scale, scaled = fixed, bool(a.block or b.block)
    terms = []
    for k, (code_a, code_b) in enumerate(zip(a.codes, b.codes, strict=True)):
        if scaled and k % s.block == 0:
            scale = times(fixed, do.at("a", k)(block_factor, a, k), do.at("b", k)(block_factor, b, k))
        x = do.at("a", k)(read, code_a, decode_a, s.formats[0])
        y = do.at("b", k)(read, code_b, decode_b, s.formats[1])
        terms.append(do.at("product", k)(product, x, y, shift, scale, limit, f"p{k}"))
    return do(in_order, terms)


def accumulate(
    s: Accumulation, terms: Sequence[Term], c: int, make: Callable[..., TreeEvaluator] = TreeEvaluator, do: Do = PLAIN
) -> tuple[int, int]:
    """Sum the products and c; returns the result's code and flags. make: the class that evaluates the tree."""
    _, code, flags = accumulated(s, terms, c, make, do)
    return code, flags


def accumulated(
    s: Accumulation, terms: Sequence[Term], c: int, make: Callable[..., TreeEvaluator] = TreeEvaluator, do: Do = PLAIN
) -> tuple[list[int], int, int]:
    """The running result after each step, the result's code, and the flags."""
    unit, result = s.accumulator, s.result
    size = unit.step_for(s.formats, result, s.block, len(terms))
    decode = operand_decoder(result, unit.flush_inputs)
    running, flags = first_running(s, c, do)
    code, codes = 0, []
    tree = make(unit, result, do=do, count=int(_converts_c(s)))
    for start in range(0, len(terms), size):
        padded = [*terms[start : start + size], *(_padding(k) for k in range(len(terms), start + size))]
        tree.products, tree.running = padded, running
        tree.terms(unit.root)
        code = do(running_result, tree.code)
        codes.append(code)
        running = number(decode(code), result, "c")
    flags |= tree.flags
    if s.out != result:
        value = decoder(result)(code)
        code, more = do.at("convert")(rounded, value, 0, destination(s.out, Policy(nan=unit.nan)))
        flags |= more
    return codes, code, flags if unit.flags else 0


def _padding(k: int) -> Term:
    return ZERO_PRODUCT._replace(label=f"p{k}")


ZERO_PRODUCT: Final = product(exact.zero(0), exact.zero(0), 0, ONE, None, "")


@step("running result", "code")
def running_result(code: int) -> int:
    """The result of the steps so far, which the next one adds to its products."""
    return code


def _converts_c(s: Accumulation) -> bool:
    """Whether c is rounded to the running result's format."""
    return s.c != s.result and s.accumulator.c != "own"


def first_running(s: Accumulation, c: int, do: Do = PLAIN) -> tuple[Term, int]:
    """c as the first step receives it, and the flags raised if it is rounded to the running result's format."""
    unit, in_c = s.accumulator, do.at("c")
    if not _converts_c(s):
        return number(in_c(read, c, operand_decoder(s.c, unit.flush_inputs), s.c), s.c, "c"), 0
    value = in_c(read, c, decoder(s.c), s.c)
    code, flags = in_c(rounded, value, 0, destination(s.result, Policy(nan=unit.nan)))
    return number(operand_decoder(s.result, unit.flush_inputs)(code), s.result, "c"), flags


def run(s: Accumulation, a: Operand, b: Operand, c: int) -> Encoded:
    """The dot product of checked operands."""
    bits, flags = accumulate(s, products(s, a, b), check_code(c, s.c))
    return Encoded(bits, FLAGS[flags])
