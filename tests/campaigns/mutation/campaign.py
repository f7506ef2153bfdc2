"""The campaign: every bug of a circuit against every kind of cases, in every setting."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.simulators import Simulator

from . import stimuli
from .bench import Bench
from .bugs import Bug, bugs
from .circuits import ONE, Circuit, Setting, Size


@dataclass(frozen=True)
class Fall:
    """The case at which a bug first showed, counted within its setting's set, and that setting."""

    case: int
    setting: str


@dataclass
class Outcome:
    """A bug, and for each kind of cases the setting where it showed after the fewest; none where it never did.

    methods: the kinds of cases that there are for the circuit.
    """

    circuit: str
    bug: Bug
    methods: tuple[str, ...] = ()
    falls: dict[str, Fall] = field(default_factory=dict)

    def add(self, method: str, fall: Fall) -> None:
        known = self.falls.get(method)
        if known is None or fall.case < known.case:
            self.falls[method] = fall


def run(
    circuit: Circuit,
    work: Path,
    size: Size,
    methods: Sequence[str] = stimuli.METHODS,
    seed: int = 0,
    chosen: Sequence[int] = (),
    tell: Callable[[str], None] = lambda _: None,
    simulator: Simulator | None = None,
) -> list[Outcome]:
    """Build the circuit's bench and run it; chosen: numbers of bugs, all where there are none; simulator: the first
    that can be used here. Raises Error where the correct circuit differs from what is expected, or does not build, and
    where a bug shows that is said to be equivalent."""
    listed = chosen_bugs(circuit, chosen)
    bench = Bench(circuit, listed, work, simulator)
    tell(f"{circuit.name}: {len(listed)} bugs built")
    known = tuple(m for m in methods if any(stimuli.has(m, s) for s in circuit.settings))
    outcomes = {b.number: Outcome(circuit.name, b, known) for b in listed}
    for method in known:
        for setting in circuit.settings:
            _run_setting(bench, setting, method, size, seed, outcomes)
        shown = sum(method in o.falls for o in outcomes.values())
        tell(f"{circuit.name}: {method}: {shown} of {len(listed)} show")
    _run_witnesses(bench, outcomes)
    refuse_equivalent(outcomes.values())
    return list(outcomes.values())


def refuse_equivalent(outcomes: Iterable[Outcome]) -> None:
    """Raises Error where a bug shows that is said to be equivalent."""
    for outcome in outcomes:
        if outcome.bug.equivalent and outcome.falls:
            where = f"{outcome.circuit} {outcome.bug.number}"
            raise Error(f"{where}: said to be equivalent, but it shows: {outcome.falls}")


def chosen_bugs(circuit: Circuit, numbers: Sequence[int]) -> list[Bug]:
    """The bugs of these numbers, all where there are none. Raises Error."""
    known = bugs(circuit)
    for number in numbers:
        if number not in {b.number for b in known}:
            raise Error(f"{circuit.name} has no bug {number}; it has 1 to {max(b.number for b in known)}")
    return [b for b in known if not numbers or b.number in numbers]


def _run_setting(
    bench: Bench, setting: Setting, method: str, size: Size, seed: int, outcomes: dict[int, Outcome]
) -> None:
    path = bench.work / f"{method}-{setting.name}.words"
    stimuli.write(bench.circuit, setting, method, size, seed, path)
    falls = bench.run(path, setting)
    for number, case in falls.at.items():
        outcomes[number].add(method, Fall(case, setting.name))
    path.unlink()


def _run_witnesses(bench: Bench, outcomes: dict[int, Outcome]) -> None:
    """Whether a bug's own witness shows it."""
    for outcome in outcomes.values():
        if outcome.bug.witness:
            name, cases = witness(outcome.bug)
            setting, path = bench.circuit.setting(name), bench.work / "witness.words"
            stimuli.write_cases(bench.circuit, setting.cases(ONE), cases, path)
            shown = bench.run(path, setting).at.get(outcome.bug.number)
            if shown is not None:
                outcome.add("witness", Fall(shown, name))


def witness(bug: Bug) -> tuple[str, list[tuple[int, ...]]]:
    """The setting's name, and the operands of each case; `00x31` stands for thirty-one zeros."""
    name, text = bug.witness.split(maxsplit=1)
    return name, [tuple(_codes(case)) for case in text.split(";")]


def _codes(text: str) -> Iterator[int]:
    for word in text.split():
        code, _, times = word.partition("x")
        yield from [int(code, 16)] * int(times or 1)
