"""A circuit that makes its own random bits: whether a register of it is a shift register of the package, step by step.

After the reset it holds the seed. For any contents of the registers, it takes the next state in a cycle in which
operands are taken, and keeps its state in others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from softfloat_ref.oracle.sources import Lfsr
from softfloat_ref.proof.design import BoundDesign, register
from softfloat_ref.proof.solver import solve
from softfloat_ref.proof.unroll import MachineRun, after_reset, free_contents, idle_signals, side_by_side
from softfloat_ref.symbolic.build import eq, extract, ite, make, not_
from softfloat_ref.symbolic.terms import TRUE, Term, const, evaluator, known_values, var, variables

WORDS: Final = 1 << 20  # among which a state is looked for
_CYCLES_AFTER_RESET: Final = 4  # cycles after the reset


class WrongState(NamedTuple):
    """Where a register is not the source. word: the number of the word that is its state; taken: whether operands are
    taken then, None: it is wrong right after the reset; model: inputs; right: the next state; held: the register's."""

    word: int
    state: int
    taken: bool | None
    model: Mapping[str, int]
    right: int
    held: int


@dataclass(frozen=True)
class GeneratorCheck:
    """What came of it. why: what was in the way of a proof."""

    why: str = ""
    wrong: WrongState | None = None


def check_generator(design: BoundDesign, name: str, source: Lfsr, limit_s: float) -> GeneratorCheck:
    """Whether a register is the state of a source; operands are taken together. Raises Error."""
    machine, own = design.machine, register(name, design.machine)
    first = after_reset(machine, design.ports).contents[own]
    if not first.is_const:
        return GeneratorCheck(f"no reset sets register {name}")
    if first.value != source.seed:
        return GeneratorCheck(wrong=WrongState(0, first.value, None, {}, source.seed, first.value))
    if (soon := _soon(design, own, source, limit_s)) is not None:
        return GeneratorCheck(wrong=soon)
    run, state = MachineRun(machine, free_contents(machine)), var("state", source.width)
    run.contents[own] = state
    taken = _cycle(design, run, "")
    held, right = run.contents[own], ite(taken, _next(state, source), state)
    reached = not_(eq(state, const(0, source.width))) if source.width in source.taps else TRUE  # 0 comes of 0 only
    wrong = [reached, not_(eq(held, right))]
    answer = solve(wrong, limit_s)
    if answer.result == "unsat":
        return GeneratorCheck()
    seen = solve([*wrong, not_(eq(*(extract(x, source.high, source.low) for x in (held, right))))], limit_s)
    answer = seen if seen.result == "sat" else answer  # what operations get, rather than other bits
    before = {str(v.value) for v in variables([held, taken])} & {str(t.value) for t in free_contents(machine).values()}
    if answer.result == "unknown" or before:
        return GeneratorCheck(f"whether register {name} is the source's state is undecided")
    model = known_values([held, right, taken], answer.model)
    at, *codes = evaluator([state, taken, right, held])({"state": 1, **model})
    word = next((i for i, s in zip(range(WORDS), source.states(), strict=False) if s == at), None)
    if word is None:
        return GeneratorCheck(f"register {name} is another one after {at:x}, which is none of the first {WORDS} states")
    return GeneratorCheck(wrong=WrongState(word, at, bool(codes[0]), model, codes[1], codes[2]))


def _soon(design: BoundDesign, own: str, source: Lfsr, limit_s: float) -> WrongState | None:
    """Where the register is another one within a few cycles after the reset."""
    run, every = after_reset(design.machine, design.ports), list[Term]()
    for at in range(_CYCLES_AFTER_RESET):
        state = run.contents[own]
        every.append(_cycle(design, run, f" in {at}"))
        held, right = run.contents[own], ite(every[-1], _next(state, source), state)
        answer = solve([not_(eq(held, right))], limit_s)
        if answer.result == "sat":
            roots = [state, right, held, *every]
            model = known_values(roots, answer.model)
            before, wanted, got, *taken = evaluator(roots)(model)
            now = {name.removesuffix(f" in {at}"): x for name, x in model.items()}
            return WrongState(sum(taken[:-1]), before, bool(taken[-1]), now, wanted, got)
    return None


def _cycle(design: BoundDesign, run: MachineRun, name: str) -> Term:
    """A cycle with anything offered and taken; whether operands are taken. name: the end of its variables'."""
    shake = design.ports.handshake
    free = {"in_valid": var(f"valid{name}", shake.channels), "out_ready": var(f"ready{name}", 1)}
    outputs = run.step({**idle_signals(design.ports), **free, "stimulus": design.driven.any(name)})
    if "in_valid" not in shake:
        return TRUE
    return eq(make("and", shake.channels, outputs["in_ready"], free["in_valid"]), const(-1, shake.channels))


def _next(state: Term, source: Lfsr) -> Term:
    """The state after a state: each of its bits the exclusive or of those that move it."""
    images, bits = source.images(), list[Term]()
    for bit in range(source.width):
        moved = const(0, 1)
        for i, image in enumerate(images):
            if image >> bit & 1:
                moved = make("xor", 1, moved, extract(state, i, i))
        bits.append(moved)
    return side_by_side(bits)
