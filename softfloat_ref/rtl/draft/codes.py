"""Control inputs of a draft, with their codes from enumerations and named constants, and inputs held at a constant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from softfloat_ref.base.tables import toml_key, toml_string
from softfloat_ref.oracle.formats import get_format
from softfloat_ref.rtl.draft import names
from softfloat_ref.rtl.draft.bits import add_bit
from softfloat_ref.rtl.draft.design import Signal
from softfloat_ref.rtl.draft.lines import Draft, toml_table
from softfloat_ref.rtl.draft.selected_codes import selected_codes

_MAX_WIDTH: Final = 8  # of a code
_MAX_ROUNDING: Final = 4  # bits of the code of a rounding
_SHOWN_CODES: Final = 6  # in a list of guesses
_MAX_MASK: Final = 64  # bits of a constant in a port map
_RISCV: Final = {"rne": 0, "rtz": 1, "rdn": 2, "rup": 3, "rna": 4}
_TWO_BITS: Final = {"rne": 0, "rtz": 1, "rup": 2, "rdn": 3}
_BY_ROUNDING: Final = {"le *": 0, "lt *": 1, "eq *": 2, "min *": 0, "max *": 1}  # funct3 of RISC-V's instructions


def add_controls(draft: Draft, clocked: bool) -> None:
    """Add the inputs that encode the operation, its formats and its rounding; of a clocked module without a valid, also
    the code of the operation that says that there is none."""
    candidates = draft.ports("input", lambda s: len(s.leaves) == 1 and s.width <= _MAX_WIDTH)
    ops = [s for s in candidates if _is_op(s)]
    op = next((s for s in ops if s.leaves[0].codes), next(iter(ops), None))
    modified = bool(op) and any(s.width == 1 and _modifies(s) for s in candidates)
    codes = _operation(draft, op, modified) if op else {}
    if op and clocked:
        _no_operation(draft, op, codes)
    several = bool(set(map(_joined, codes)) & (names.COMPARE | names.MINMAX))
    for signal in (s for s in candidates if s is not op):
        words = set(names.core(signal.name))
        if op and signal.width == 1 and _modifies(signal):
            _modifier(draft, signal)
        elif _knows(signal, names.ROUNDINGS) or (words & names.ROUNDING_WORD and signal.width <= _MAX_ROUNDING):
            _rounding(draft, signal, several)
        elif _knows(signal, names.INTEGERS) or (words & names.FORMAT_WORD and words & names.INTEGER):
            _integers(draft, signal)
        elif _knows(signal, names.FORMATS) or words & names.FORMAT_WORD:
            _formats(draft, signal, op is not None)
        elif signal.width == 1:
            add_bit(draft, signal, words)


def _is_op(signal: Signal) -> bool:
    words = names.core(signal.name)
    named = (
        names.position(signal.name) is None
        and bool(set(words) & names.OP_WORD)
        and not set(words) & (names.MODIFIER | names.FORMAT_WORD)
    )
    return _knows(signal, names.OPERATIONS) or (named and (signal.width > 1 or len(words) == 1))


def _modifies(signal: Signal) -> bool:
    words = set(names.core(signal.name))
    return bool(words & names.OP_WORD and words & names.MODIFIER)


def _knows(signal: Signal, vocabulary: Mapping[str, str]) -> bool:
    """Whether an enumeration has at least two names of the vocabulary, as many as it has others."""
    known = names.meanings(signal.leaves[0].codes, vocabulary)
    return len(known) >= 2 and 2 * len(known) >= len(signal.leaves[0].codes)


def _codes(
    draft: Draft, signal: Signal, vocabulary: Mapping[str, str], words: Collection[str]
) -> tuple[dict[str, int], str]:
    """The codes of a port by name, and where the names are from: its enumeration, or constants that fit, whose names
    are clear by themselves or with one of the words."""
    if signal.leaves[0].codes:
        package = signal.type.rpartition("::")
        return {f"{package[0]}{package[1]}{name}": code for name, code in signal.leaves[0].codes.items()}, signal.type
    numbers = {x: v for x, v in draft.design.constants.items() if 0 <= v < 1 << signal.width}
    clear = {x: numbers[x] for x in names.clear(numbers, vocabulary, words)}
    return (clear, "constants of the source") if len(set(clear.values())) == len(clear) > 1 else ({}, "")


def _add_codes(
    draft: Draft, signal: Signal, of: str, codes: list[tuple[str, int, str]], why: str, guess: bool = False
) -> None:
    """Add a control port with a line for each code, of codes of the same words the first."""
    _check_properties(draft, signal, of)
    draft.take(signal)
    some = ", ".join(f"{words} = {value}" for words, value, _ in codes[:_SHOWN_CODES])
    shown = f"{signal.name}: {some}{', ...' * (len(codes) > _SHOWN_CODES)}"
    draft.add(f"inputs.{toml_key(signal.name)}", f"of = {toml_string(of)}", why, guess, signal.name, shown)
    draft.add(f"inputs.{toml_key(signal.name)}", f"width = {signal.width}")
    if signal.enumeration:
        draft.add(f"inputs.{toml_key(signal.name)}", f"type = {toml_string(signal.enumeration)}")
    first = {words: (value, name) for words, value, name in reversed(codes)}
    for words, (value, name) in reversed(first.items()):
        draft.add(f"inputs.{toml_key(signal.name)}.codes", f"{toml_key(words)} = {value}", name)


def _joined(name: str) -> str:
    return "".join(names.words(name.rpartition("::")[2]))


def _check_properties(draft: Draft, signal: Signal, of: str) -> None:
    """Raise Error if the vectors that a draft is for do not differ in what a port encodes."""
    missing = [] if draft.target is None else [x for x in of.split() if x not in draft.target.controls[0]]
    if missing:
        draft.ask(signal, f"encodes the {missing[0]}, by its name, which these vectors do not have")


def _unknown(draft: Draft, signal: Signal, what: str) -> None:
    of = what.partition(" ")[0]
    draft.ask(signal, f"encodes the {what.rpartition(' ')[2]}, by its name, and the source names no codes", of)
    why = f"{what}: the source names no codes; set {{ of = {toml_string(of)}, codes = {{ ... }} }}"
    draft.use("inputs", signal, _constant(signal, 0), why, True)


def _constant(signal: Signal, value: int) -> str:
    """An input held at a value."""
    width = {"width": str(signal.width)} if signal.width > 1 else {}
    return toml_table(
        value=str(value), **width, **({"type": toml_string(signal.enumeration)} if signal.enumeration else {})
    )


def _not_used(codes: Mapping[str, int], used: set[str]) -> str:
    """What a comment says of the codes that the draft does not use."""
    left = ", ".join(f"{name.rpartition('::')[2]} = {value}" for name, value in codes.items() if name not in used)
    return f"; not used: {left}" if left else ""


# -- operation -----------------------------------------------------------------------------------------------------


def _operation(draft: Draft, signal: Signal, modified: bool) -> dict[str, int]:
    """Add the port of the operation; its codes. modified: whether another port makes additions subtractions."""
    codes, origin = _codes(draft, signal, names.OPERATIONS, names.OP_WORD)
    if not names.meanings(codes, names.OPERATIONS) and not signal.leaves[0].codes:
        codes, origin = selected_codes(draft, signal)
    operations = {name: value.split("|") for name, value in names.meanings(codes, names.OPERATIONS).items()}
    for name in codes:
        joined = _joined(name)
        if joined in names.COMPARE:
            operations[name] = ["eq * *", "lt * *", "le * *"]
        elif joined in names.MINMAX:
            operations[name] = ["min * *", "max * *"]
    own = {words[0] for words in operations.values() if len(words) == 1}
    operations = {name: [w for w in words if len(words) == 1 or w not in own] for name, words in operations.items()}
    ops = {own["op"] for own in draft.target.controls} if draft.target else set()
    if not operations and signal.width == 1 and ops <= {"add", "sub"}:
        value = '{ of = "op", codes = { add = 0, sub = 1 } }'
        draft.use("inputs", signal, value, "one bit: addition or subtraction", True)
    elif not operations:
        _unknown(draft, signal, "op of the operation")
    else:
        if modified and ["sub * *"] not in operations.values():
            operations |= {name: [*words, "sub * *"] for name, words in operations.items() if words == ["add * *"]}
        rows = [(words, codes[name], name) for name, all_words in operations.items() for words in all_words]
        rows.sort(key=lambda row: (row[0] == "convert * *", row[0].startswith("convert * ")))
        wide = any(words.startswith("convert") and words != "convert * *" for words, _, _ in rows)
        if not wide:
            rows = [(words.split()[0], value, name) for words, value, name in rows]
        why = f"{origin}{_not_used(codes, set(operations))}"
        _add_codes(draft, signal, "op fmt out" if wide else "op", rows, why, not signal.leaves[0].codes)
    return codes


def _no_operation(draft: Draft, op: Signal, codes: Mapping[str, int]) -> None:
    """Add the code that means no operation as the valid of a module without one."""
    constants = {} if op.leaves[0].codes else draft.design.constants
    named = {x: v for x, v in {**constants, **codes}.items() if names.words(x)[-1:] and _is_none(x) and v >= 0}
    values = {
        v for x, v in named.items() if v < 1 << op.width and (op.leaves[0].codes or names.OP_WORD & {*names.words(x)})
    }
    if len(values) == 1 and not any("in_valid" in line.text for line in draft.tables.get("handshake", ())):
        value = toml_table(port=toml_string(op.name), idle=str(values.pop()))
        draft.add("handshake", f"in_valid = {value}", f"{', '.join(named)} by its name", True, op.name)


def _is_none(name: str) -> bool:
    own = names.words(name.rpartition("::")[2])
    return own[-1] in names.NO_OPERATION or "".join(own[-2:]) in names.NO_OPERATION


def _modifier(draft: Draft, signal: Signal) -> None:
    rows = [("sub * *", 1, ""), ("convert u* *", 1, ""), ("convert * u*", 1, ""), ("* * *", 0, "")]
    _add_codes(draft, signal, "op fmt out", rows, "1 makes a sum a difference and integers unsigned, by its name", True)


# -- rounding and formats ------------------------------------------------------------------------------------------


def _rounding(draft: Draft, signal: Signal, several: bool) -> None:
    """Add the port of the rounding; several: whether it also tells comparisons, and minimum from maximum."""
    codes, origin = _codes(draft, signal, names.ROUNDINGS, names.ROUNDING_WORD)
    meanings = names.meanings(codes, names.ROUNDINGS)
    rows = [(rounding, codes[name], name) for name, rounding in meanings.items()]
    if rows and signal.width == 3 and all(_RISCV.get(rounding, code) == code for rounding, code, _ in rows):
        named = {rounding for rounding, _, _ in rows}
        rows += [(rounding, code, "RISC-V's, not named") for rounding, code in _RISCV.items() if rounding not in named]
        rows.sort(key=lambda row: row[1])
    if not rows:
        standard = _RISCV if signal.width == 3 else _TWO_BITS if signal.width == 2 else {}
        if not standard:
            _unknown(draft, signal, "rounding")
            return
        value = ", ".join(f"{name} = {code}" for name, code in standard.items())
        why = "the source names no codes: RISC-V's" if signal.width == 3 else "the source names no codes"
        _check_properties(draft, signal, "rounding")
        text = f'{{ of = "rounding", width = {signal.width}, codes = {{ {value} }} }}'
        draft.use("inputs", signal, text, why, True)
        return
    why = f"{origin}{_not_used(codes, set(meanings))}"
    if not several:
        _add_codes(draft, signal, "rounding", rows, why, not signal.leaves[0].codes)
        return
    chosen = [(words, code, "") for words, code in _BY_ROUNDING.items()]
    why += "; comparisons, min and max by RISC-V's funct3, as they have no code of their own"
    _add_codes(draft, signal, "op rounding", chosen + [(f"* {x}", code, name) for x, code, name in rows], why, True)


def _formats(draft: Draft, signal: Signal, operations: bool) -> None:
    """Add the port of a format; operations: whether the module has several, and so results without a format."""
    words = set(names.core(signal.name)) | set(names.words(signal.name))
    codes, origin = _codes(draft, signal, names.FORMATS, names.FORMAT_WORD)
    rows = [(fmt, codes[name], name) for name, fmt in names.meanings(codes, names.FORMATS).items()]
    if not rows:
        of, _ = _side(draft, words, [], operations)
        _unknown(draft, signal, f"{of} of the format")
        return
    of, where = _side(draft, words, [row[0] for row in rows], operations)
    why = f"{origin}{_not_used(codes, {row[2] for row in rows})}"
    if (
        operations
    ):  # where its own side has an integer, as in comparisons, the other side's format, as in RISC-V's `fmt`
        own, other = ("{} *", "* {}") if of == "fmt" else ("* {}", "{} *")
        rows = [(side.format(fmt), code, name) for side in (own, other) for fmt, code, name in rows]
    else:
        rows += [(kind, rows[0][1], "integers, which are no format of this port") for kind in ("i*", "u*")]
    _add_codes(draft, signal, "fmt out" if operations else of, rows, f"{why}; `{of}` by {where}", True)


def _side(draft: Draft, words: set[str], formats: list[str], operations: bool) -> tuple[str, str]:
    """Whether a format is that of the operands, of one of them, or of the result, and by what: its name, or the widths
    of ports."""
    own = [f"fmt_{letter}" for letter in names.LETTERS[1:] if letter in words]
    if own and not operations and (draft.target is None or own[0] in draft.target.controls[0]):
        return own[0], "its name"
    if words & (names.SOURCE - {"in"}):
        return "fmt", "its name"
    if words & (names.TARGET - {"out"}):
        return "out", "its name"
    widest = max((get_format(name).width for name in formats), default=0)
    into, out = (max((s.width for s in draft.ports(way)), default=0) for way in ("input", "output"))
    by_width = not operations and widest == out != into
    return ("out", "the width of the result") if by_width else ("fmt", "its name")


def _integers(draft: Draft, signal: Signal) -> None:
    codes, origin = _codes(draft, signal, names.INTEGERS, names.INTEGER)
    rows: list[tuple[str, int, str]] = []
    for name, integer in names.meanings(codes, names.INTEGERS).items():
        kinds = (integer, integer.replace("i", "u")) if integer[0] == "i" else (integer,)
        rows += [(words, codes[name], name) for kind in kinds for words in (f"{kind} *", f"* {kind}")]
    if not rows:
        _unknown(draft, signal, "out of integers")
        return
    _add_codes(draft, signal, "fmt out", [*rows, ("* *", rows[0][1], "no integer")], origin)


# -- the rest ------------------------------------------------------------------------------------------------------


def add_constants(draft: Draft, clocked: bool) -> None:
    """Hold the inputs that are left at a value that does nothing, as far as their names say so."""
    for signal in draft.ports("input"):
        words = set(names.core(signal.name)) | {"".join(names.core(signal.name))}
        level = names.reset_level(signal.name) if signal.width == 1 else None
        value, why, held, enable = 0, "nothing is known of it; 0", False, ""
        if level is not None:
            value, why = int(level == "low"), "another reset, not active"
        elif words & names.INACTIVE:
            why = "not active, by its name"
        elif signal.width == 1 and words & {*names.ENABLE} and (low := _enabled_low(draft, signal)):
            value, why, enable = 0, f"always on, {low}", toml_table(port=toml_string(signal.name), active='"low"')
        elif signal.width <= _MAX_MASK and words & {*names.ENABLE, *names.MASK, *names.VALID, *names.READY}:
            value, why = (1 << signal.width) - 1, "always on, by its name"
            if signal.width == 1 and words & {*names.ENABLE}:
                enable = toml_table(port=toml_string(signal.name))
        else:
            held = True
        enable = f"enable = {enable}" if clocked and enable else ""
        why += f"; {enable} toggles it" * bool(enable and words & names.CLOCK_ENABLE)
        draft.use("inputs", signal, _constant(signal, value), why, True, held, enable)


def _enabled_low(draft: Draft, signal: Signal) -> str:
    """Why an enable is active low; '' if it is active high."""
    use = draft.design.uses.get(signal.name)
    if use is not None and use.tested:
        return f"active low in {use.place}" if use.tested == "low" else ""
    return "active low by its name" if names.is_low(signal.name) else ""
