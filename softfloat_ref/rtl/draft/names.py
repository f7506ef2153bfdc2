"""Names of ports and of encodings as designers use them, and what they stand for."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from softfloat_ref.base.search import find_first

LETTERS: Final = "abc"  # of operands
_LETTER_OR_NUMBER: Final = re.compile(r"[a-z]*?([a-c]|[x-z])|\D*(\d+)")
_MIN_LETTERS: Final = 3  # letters of a constant's name that is clear by itself
_COMMON_WORDS: Final = {
    "min",
    "max",
    "zero",
    "even",
    "odd",
    "down",
    "away",
    "floor",
    "ceil",
    "neg",
    "abs",
    "negative",
} | {
    *("positive", "class", "float", "single", "double", "quad", "half", "cast", "conv", "plus", "minus", "near"),
}
_DIRECTIONS: Final = {"i", "o", "in", "out", "input", "output", "io", "bits", "di", "do"}
_RESOURCE: Final = {"rsc", "z", "d", "dat"}  # Catapult's ports: a_rsc_dat, a_rsc_z
_STREAM: Final = {"s", "m", "axis", "axi"}
_LOW_ENDS: Final = {"n", "ni", "b", "l", "bar", "low"}
_RESET: Final = re.compile(r"(n?)(?:a|s|sys|por)?(?:rst|reset)(n|b|ni|_l)?")
_CLOCK: Final = re.compile(r"(?:a|sys|core|m|s)?(?:clk|clock)\d?|ck")
_GATES: Final = {"en", "enable", "ena", "gate", "sel", "div", "req", "ack"}

VALID: Final = ("valid", "vld", "tvalid", "val", "stb", "strobe", "dv")
START: Final = ("start", "go", "req", "request", "load", "push", "begin", "nd", "launch", "fire", "issue")
READY: Final = ("ready", "rdy", "tready", "ack", "gnt", "grant", "accept", "rfd")
DONE: Final = ("done", "finish", "finished", "complete", "completed")
ENABLE: Final = ("en", "enable", "ena", "ce", "clken", "clkena", "aclken", "oe", "run")
CLOCK_ENABLE: Final = {"ce", "clken", "clkena", "aclken"}
NO_OPERATION: Final = {"nop", "none", "noop", "null", "idle"}
DATA: Final = {"data", "dat", "tdata", "bits", "payload", "din", "dout"}  # which say nothing of a port
MASK: Final = {"mask", "strb", "keep", "tkeep", "boxed"}
TAG: Final = {"tag", "id", "tid", "trans", "token", "aux", "txn", "uid", "idx", "tuser", "ticket"}
DESTINATION: Final = {"rd", "waddr"}  # of an operation in a processor, which comes back with its result
PROTOCOL: Final = {*VALID, *READY, *DONE, *TAG}
RANDOM: Final = {"rand", "random", "rng", "lfsr", "sr", "stochastic", "rbits", "entropy", "noise"}
PLACES: Final[Mapping[str, int]] = {
    **dict.fromkeys(("dividend", "numerator", "multiplicand", "radicand", "augend", "lhs", "left", "first"), 0),
    **dict.fromkeys(("divisor", "denominator", "multiplier", "rhs", "right", "second"), 1),
    **dict.fromkeys(("addend", "acc", "accum", "accumulator", "third", "addition"), 2),
}
BEFORE_LETTER: Final = {
    *("rs", "fs", "frs", "in", "element", "elem", "mx", "arg", "num", "fp", "value", "val", "opnd", "vec", "vector"),
    *("x", "number", "din", "exp"),
}
SCALE: Final = {"scale", "scales", "scaling", "shared"}
OPERANDS: Final = {"operand", "operands", "op", "ops", "src", "srcs", "data", "opnds", "args", "inputs"}
RESULT: Final = (
    *("result", "res", "results", "answer", "z", "y", "q", "sum", "product", "prod", "quotient", "quot", "root"),
    *("diff", "out", "dout", "data", "tdata", "value", "val", "rd", "r", "p", "s", "c", "o"),
)
FLAG_WORD: Final = {"flags", "flag", "fflags", "status", "exc", "exception", "exceptions", "excepts"}
# Words beside the name of a flag that say no more than that it is one, as in overflow_flag and is_invalid.
FLAG_DECORATION: Final = {
    *("flag", "flags", "f", "is", "exc", "exception", "fp", "fpu", "err", "error", "has", "detected", "occurred"),
    *("result", "res", "sig", "raised", "status", "fflag", "fflags", "reg", "q", "r"),
}
FLAGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("invalid", "nv", "ieeeinvalid", "inv", "invop", "invalidop", "invalidoperation"), "invalid"),
    **dict.fromkeys(("invld", "ivo", "ivop", "ioc", "nvc"), "invalid"),
    **dict.fromkeys(("dividebyzero", "dz", "divbyzero", "divzero", "dbz", "zerodivide", "infinite"), "divide_by_zero"),
    **dict.fromkeys(("divisionbyzero", "divby0", "div0", "zerodiv", "zerodivision", "dividezero"), "divide_by_zero"),
    **dict.fromkeys(("divbz", "dzc", "dbyz"), "divide_by_zero"),
    **dict.fromkeys(("overflow", "of", "ovf", "ofl", "ovfl", "ovrf", "overfl", "ofc"), "overflow"),
    **dict.fromkeys(("underflow", "uf", "unf", "udf", "ufl", "unfl", "undf", "udrf", "underfl", "udfl"), "underflow"),
    "ufc": "underflow",
    **dict.fromkeys(("inexact", "nx", "ine", "inx", "ix", "inex", "inxct", "ixc", "nxc"), "inexact"),
}
# Names of two letters that mean flags only where at least three of a row are there: x86's, Power's.
FLAG_ROWS: Final[tuple[Mapping[str, str], ...]] = tuple(
    dict(zip(row, ("invalid", "divide_by_zero", "overflow", "underflow", "inexact"), strict=True))
    for row in (("ie", "ze", "oe", "ue", "pe"), ("vx", "zx", "ox", "ux", "xx"))
)
_FEWEST_OF_ROW: Final = 3
ROUNDING_WORD: Final = {"rm", "rnd", "round", "rounding", "frm", "rmode", "roundmode", "roundingmode", "rndmode"}
ROUNDINGS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("rne", "ne", "nearest", "nearesteven", "neareven", "tonearest", "even", "tiestoeven"), "rne"),
    **dict.fromkeys(("rtz", "tz", "zero", "towardzero", "tozero", "trunc", "truncate", "minmag", "rz"), "rtz"),
    **dict.fromkeys(("rdn", "rd", "down", "min", "floor", "tominf", "ninf", "negative", "tonegative"), "rdn"),
    **dict.fromkeys(("rup", "ru", "up", "max", "ceil", "topinf", "pinf", "positive", "topositive"), "rup"),
    **dict.fromkeys(("rmm", "rna", "na", "nearestaway", "nearmaxmag", "away", "tiestoaway", "maxmag"), "rna"),
    **dict.fromkeys(("rod", "rto", "odd", "toodd"), "rto"),
    **dict.fromkeys(("sr", "stochastic", "rs"), "sr"),
}
OP_WORD: Final = {"op", "opcode", "operation", "func", "funct", "function", "fn", "opsel", "oper", "opc"}
MODIFIER: Final = {"mod", "modifier", "subtract", "sub", "sign", "neg"}
OPERATIONS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("add", "fadd", "addition", "plus"), "add * *"),
    **dict.fromkeys(("sub", "fsub", "subtract", "minus"), "sub * *"),
    **dict.fromkeys(("mul", "fmul", "mult", "multiply"), "mul * *"),
    **dict.fromkeys(("div", "fdiv", "divide"), "div * *"),
    **dict.fromkeys(("sqrt", "fsqrt", "sqr", "squareroot"), "sqrt * *"),
    **dict.fromkeys(("fma", "fmadd", "madd", "muladd", "mac", "fmac"), "fma * *"),
    **dict.fromkeys(("fmsub", "msub", "mulsub", "fms"), "fmsub * *"),
    **dict.fromkeys(("fnmadd", "nmadd", "fnma"), "fnmadd * *"),
    **dict.fromkeys(("fnmsub", "nmsub", "fnms"), "fnmsub * *"),
    **dict.fromkeys(("rem", "frem", "remainder"), "rem * *"),
    **dict.fromkeys(("min", "fmin"), "min * *"),
    **dict.fromkeys(("max", "fmax"), "max * *"),
    **dict.fromkeys(("eq", "feq", "cmpeq"), "eq * *"),
    **dict.fromkeys(("lt", "flt", "cmplt"), "lt * *"),
    **dict.fromkeys(("le", "fle", "cmple"), "le * *"),
    **dict.fromkeys(("class", "fclass", "classify"), "class * *"),
    **dict.fromkeys(("abs", "fabs"), "abs * *"),
    **dict.fromkeys(("neg", "fneg", "negate"), "neg * *"),
    **dict.fromkeys(("i2f", "itof", "inttofloat", "int2fp", "int2float", "fromint"), "convert i* *|convert u* *"),
    **dict.fromkeys(("f2i", "ftoi", "floattoint", "fp2int", "float2int", "toint"), "convert * i*|convert * u*"),
    **dict.fromkeys(("u2f", "utof", "uint2fp", "fromuint", "unsignedtofloat"), "convert u* *"),
    **dict.fromkeys(("f2u", "ftou", "fp2uint", "touint", "floattounsigned"), "convert * u*"),
    **dict.fromkeys(("scalb", "scaleb", "ldexp"), "scaleb * *"),
    **dict.fromkeys(("roundint", "roundtoint", "roundtointegral", "rint", "frint"), "round_to_integral * *"),
    **dict.fromkeys(("copysign", "fcopysign"), "copysign * *"),
    **dict.fromkeys(("f2f", "ftof", "fp2fp", "cvt", "fcvt", "convert", "conv", "cast"), "convert * *"),
}
MINMAX: Final = {"minmax", "fminmax"}
COMPARE: Final = {"cmp", "fcmp", "compare"}
FORMAT_WORD: Final = {"fmt", "format", "precision", "prec", "fpfmt", "dtype"}
SOURCE: Final = {"src", "in", "source", "from", "a"}
TARGET: Final = {"dst", "out", "dest", "target", "to", "res", "result", "rd"}
INTEGER: Final = {"int", "integer", "ifmt", "intfmt"}
FORMATS: Final[Mapping[str, str]] = {
    **dict.fromkeys(("fp128", "quad", "f128", "q"), "fp128"),
    **dict.fromkeys(("extf80", "fp80", "f80", "float80", "x87"), "extf80"),
    **dict.fromkeys(("fp64", "double", "d", "f64", "dp", "binary64"), "fp64"),
    **dict.fromkeys(("fp32", "single", "s", "f32", "sp", "float", "binary32"), "fp32"),
    **dict.fromkeys(("fp16", "half", "h", "f16", "hp", "binary16"), "fp16"),
    **dict.fromkeys(("bf16", "fp16alt", "bfloat16", "bfloat", "ah"), "bf16"),
    **dict.fromkeys(("tf32", "tensorfloat"), "tf32"),
    **dict.fromkeys(("fp8", "e5m2", "fp8e5m2", "b"), "fp8_e5m2"),
    **dict.fromkeys(("e4m3", "fp8e4m3", "fp8alt", "ab"), "fp8_e4m3"),
    **dict.fromkeys(("e3m2", "fp6", "fp6e3m2"), "fp6_e3m2"),
    **dict.fromkeys(("e2m3", "fp6alt", "fp6e2m3"), "fp6_e2m3"),
    **dict.fromkeys(("e2m1", "fp4", "fp4e2m1"), "fp4_e2m1"),
}
INTEGERS: Final[Mapping[str, str]] = {
    name: f"{kind}{width}"
    for width in (8, 16, 32, 64)
    for kind, names in (("i", (f"int{width}", f"i{width}", f"s{width}")), ("u", (f"uint{width}", f"u{width}")))
    for name in names
}
SIGNED: Final = {"signed", "issigned", "signedness"}
UNSIGNED: Final = {"unsigned", "isunsigned", "uns", "unsgn"}
SUBTRACT: Final = {"sub", "subtract", "issub", "dosub"}
ADD_OR_SUBTRACT: Final = {"addsub", "addnsub", "subadd"}
STOCHASTIC: Final = {"sr", "stochastic", "dither"}
FLUSH_OUTPUTS: Final = {"ftz", "fz", "flushtozero", "ftzen"}
FLUSH_INPUTS: Final = {"daz", "denormalsarezero", "dazen"}
SATURATE: Final = {"sat", "saturate", "saturation", "saturating"}
# Inputs that start something else than an operation.
INACTIVE: Final = {
    *("flush", "clear", "clr", "kill", "abort", "cancel", "stall", "hold", "freeze", "halt", "test", "scan", "bypass"),
    *("testmode", "sleep", "debug", "init", "softreset", "regena", "regenable"),
}


def words(name: str) -> list[str]:
    """The words of a name, in lower case: of `io_in.bitsA`, io, in, bits, a."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return re.findall("[a-z0-9]+", spaced.lower())


def core(name: str) -> list[str]:
    """The words without those that only say whether a port is an input or an output, or of what kind an HLS tool made
    it."""
    name_words = words(name)
    if "rsc" in name_words:
        name_words = [w for w in name_words if w not in _RESOURCE]
    stream = "axis" in name_words or "axi" in name_words
    return [w for w in name_words if w not in _DIRECTIONS and not (stream and w in _STREAM)]


def position(name: str) -> tuple[bool, int] | None:
    """The place of an operand by its name, and whether it is exact (a, b, divisor), or only an order (x, y, 1, 2)."""
    for word in (w for w in reversed(core(name)) if not _is_format(w)):
        if word in PLACES:
            return True, PLACES[word]
        if match := _LETTER_OR_NUMBER.fullmatch(word):
            base = re.sub(r"[a-cx-z]$|\d+$", "", word)
            if not base or base in OPERANDS | BEFORE_LETTER:
                return (match[1] in LETTERS, "abcxyz".index(match[1])) if match[1] else (False, int(match[2]))
    return None


def format_of(name: str) -> str:
    """The format that a name says; '' if it says none, or several."""
    formats = {FORMATS[word] for word in core(name) if _is_format(word)}
    return formats.pop() if len(formats) == 1 else ""


def _is_format(word: str) -> bool:
    return word in FORMATS and len(word) >= _MIN_LETTERS


def flags(port_names: Iterable[str]) -> dict[str, str]:
    """The flag that each name means, of those that mean one."""
    plain = {name: [w for w in core(name) if w not in FLAG_DECORATION] for name in port_names}
    known = {name: meanings(["_".join(own)], FLAGS) for name, own in plain.items() if own}
    found = {name: find_first(own.values()) for name, own in known.items() if own}
    for row in FLAG_ROWS:
        own = {name: row[words_[-1]] for name, words_ in plain.items() if words_ and words_[-1] in row}
        found |= own if len({*own.values()}) >= _FEWEST_OF_ROW else {}
    return found


def letters(port_names: list[str]) -> list[str]:
    """A letter for each name: the one that it says, or in the order of their places, or in their own order."""
    places = [position(name) for name in port_names]
    known = [place for place in places if place is not None]
    if len(set(known)) == len(known) == len(port_names):
        if all(exact for exact, _ in known):
            return [LETTERS[place] for _, place in known]
        order = sorted(known, key=lambda place: place[1])
        return [LETTERS[order.index(place)] for place in known]
    return list(LETTERS[: len(port_names)])


def is_scale(name: str) -> bool:
    """Whether a name is that of a scale, numbered or not."""
    return any(word.rstrip("0123456789") in SCALE for word in core(name))


def is_named(name: str, field: str) -> bool:
    """Whether the name of a port is that of a field, but for a word for its direction."""
    return [w for w in words(name) if w not in ("i", "o")] == field.split("_") or core(name) == field.split("_")


def is_clock(name: str) -> bool:
    """Whether a name is a clock's."""
    name_words = words(name)
    return any(_CLOCK.fullmatch(w) for w in name_words) and not _GATES & set(name_words)


def reset_level(name: str) -> str | None:
    """The active level that the name of a reset says, "high" or "low"; None if it is not a reset's name."""
    name_words = words(name)
    for i, word in enumerate(name_words):
        if match := _RESET.fullmatch(word):
            near = set(name_words[i + 1 :]) & _LOW_ENDS or set(name_words[:i]) & {"n"}
            return "low" if match[1] or match[2] or near else "high"
    return None


def says_operation(name: str, op: str) -> bool:
    """Whether a name has the name of an operation in it, as `fle_o` has that of le; not whether it has others, too."""
    own = core(name)
    known = {OPERATIONS[w].split("|")[0].split()[0] for w in own if w in OPERATIONS}
    return bool(op) and (op in {*own, *known} or {*op.split("_")} <= {*own})


def is_low(name: str) -> bool:
    """Whether the name of a signal ends as those of signals that are active low."""
    return words(name)[-1:] == ["n"] or bool({"ni", "bar", "low"} & set(words(name)[-1:]))


def stem(name: str) -> tuple[str, ...]:
    """The words of a port that carries data, without those that only say so."""
    return tuple(w for w in core(name) if w not in DATA)


def meanings(names: Iterable[str], table: Mapping[str, str]) -> dict[str, str]:
    """Of names of codes, those that the table knows, by their last words: of p::OP_FADD, `fadd`; what they mean."""
    return {name: meaning for name in names for meaning in _endings(words(name.rpartition("::")[2]), table)}


def clear(names: Iterable[str], table: Mapping[str, str], hints: Collection[str]) -> dict[str, str]:
    """As `meanings`, but of names that may stand for anything: only a name that is an entry of the table by itself, and
    no common word, or one that has a word of the hints."""
    known = meanings(names, table)
    return {x: y for x, y in known.items() if set(words(x)) & set(hints) or _own("".join(words(x)), table)}


def _own(joined: str, table: Mapping[str, str]) -> bool:
    return joined in table and len(joined) >= _MIN_LETTERS and joined not in _COMMON_WORDS


def _endings(name_words: list[str], table: Mapping[str, str]) -> Iterator[str]:
    for start in range(len(name_words)):
        joined = "".join(name_words[start:])
        if joined in table:
            yield table[joined]
            return
