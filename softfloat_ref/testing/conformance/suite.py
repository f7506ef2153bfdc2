"""Suites: classes of tests, one per property, that query a user's model with cases that Hypothesis generates."""

from __future__ import annotations

import dataclasses
import difflib
import re
import unittest
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Generic, NoReturn, TypeVar

from hypothesis import HealthCheck, Phase, Verbosity, given, settings
from hypothesis.strategies import SearchStrategy

from softfloat_ref.base.errors import Error, Undefined, unknown
from softfloat_ref.explanation.scalar import MAX_FLAGS
from softfloat_ref.oracle.policies import Policy
from softfloat_ref.testing.compare import Answer
from softfloat_ref.testing.views import MismatchView

A = TypeVar("A")  # a model's answer
C = TypeVar("C")  # a case
S = TypeVar("S")  # what the suite is set up for
Check = Callable[[Any, Any], None]  # of a trial and a case
PREFIX: Final = "test_"
_NOT_SETTINGS: Final = ("properties", "trial")  # annotated, but not settings
_MISSPELT_RATIO: Final = 0.86  # similarity from which a name is a misspelt setting: flag is one, fmt2 is the user's own


class NotConforming(AssertionError):
    """A model broke a property: the operands, its answer, and the requirement of the property."""

    __module__ = "softfloat_ref.testing"  # where users find it


@dataclass(frozen=True)
class Property(Generic[S]):
    """A statement about a model. statement: of the operation, in a line. cases: what to draw. check: of one case drawn.

    applies: why it does not apply to a setup, or ''.
    """

    name: str
    statement: str
    cases: Callable[[S], SearchStrategy[Any]]
    check: Check
    applies: Callable[[S], str]


class Properties(Generic[S]):
    """Properties by name. Called, it makes a decorator that enters a function, whose docstring is the statement.

    usual: the cases of a property that names none.
    """

    def __init__(self, usual: Callable[[S], SearchStrategy[Any]]) -> None:
        self.usual = usual
        self.table: dict[str, Property[S]] = {}

    def __call__(
        self, cases: Callable[[S], SearchStrategy[Any]] | None = None, when: Callable[[S], str] = lambda _: ""
    ) -> Callable[[Check], Check]:
        """when: why the property does not apply to a setup, or ''."""

        def register(check: Check) -> Check:
            name, statement = check.__name__, " ".join((check.__doc__ or "").split())

            def applies(setup: S) -> str:
                reason = when(setup)
                return f"{name}: {reason}" if reason else ""

            self.table[name] = Property(name, statement, cases or self.usual, check, applies)
            return check

        return register


class Trial(Generic[S, C, A]):
    """Queries the model, records the questions, and reports them if a property does not hold."""

    def __init__(self, suite: ConformanceSuite[S, C, A], item: Property[S], setup: S) -> None:
        self.suite, self.item, self.setup = suite, item, setup
        self.questions: list[tuple[C, A]] = []

    def ask(self, *cases: C) -> list[A]:
        """The model's answers. Raises NotConforming for answers that do not fit the result's format."""
        __tracebackhide__ = True
        answers = self.suite.answers(cases)
        self.questions += zip(cases, answers, strict=True)
        for case, answer in zip(cases, answers, strict=True):
            if wanted := self.misfit(answer):
                self.questions = [(case, answer)]
                self.fail(wanted)
        return answers

    def misfit(self, answer: A) -> str:
        """For an answer that is too wide, what it should be; else ''."""
        raise NotImplementedError

    def case_lines(self, case: C, answer: A) -> list[str]:
        """The lines that report a question and its answer."""
        raise NotImplementedError

    def require(self, holds: bool, expected: str) -> None:
        __tracebackhide__ = True
        if not holds:
            self.fail(expected)

    def fail(self, expected: str) -> NoReturn:
        """Report the questions and the answers. Raises NotConforming."""
        __tracebackhide__ = True
        lines = [line for case, answer in self.questions for line in self.case_lines(case, answer)]
        head = f"{self.item.name}: {self.item.statement}"
        raise NotConforming("\n".join([head, *lines, f"  expected by this property: {expected}"]))


class ConformanceSuite(Generic[S, C, A]):
    """The base of the suites. A subclass defines the subject in class attributes, and calls the model in `model`.

    max_examples: cases per property (default: by the Hypothesis profile). A test of a property not applicable to the
    setup is skipped, with the reason; a subclass drops a test that it does not want by `test_NAME = None`.
    """

    max_examples: ClassVar[int | None] = None
    properties: ClassVar[Mapping[str, Property[Any]]] = {}
    trial: ClassVar[type[Trial[Any, Any, Any]]]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        _check_settings(cls)
        for name, item in cls.__dict__.get("properties", {}).items():
            if PREFIX + name not in cls.__dict__:
                setattr(cls, PREFIX + name, _test(item))

    def model(self, *args: Any, **more: Any) -> Any:
        """The model under test: a subclass has its own."""
        raise Error(f"{type(self).__name__}: define model(self, ...), which calls your model")

    def setup(self) -> S:
        """The setup that the class attributes define. Raises Error."""
        raise NotImplementedError

    def required(self, *names: str) -> None:
        """Raise Error for the first of these class attributes that is not set."""
        for name in names:
            if not getattr(self, name):
                raise Error(f"{type(self).__name__}: set the class attribute {name} = ...")

    def answer(self, case: C) -> A:
        raise NotImplementedError

    def answers(self, cases: Sequence[C]) -> list[A]:
        """The model's answers to several cases; a subclass may compute them all at once."""
        return [self.answer(case) for case in cases]

    @classmethod
    def applicable(cls) -> dict[str, str]:
        """Each property, with the reason why it does not apply, or ''."""
        setup = cls().setup()
        return {name: item.applies(setup) for name, item in cls.properties.items()}

    def check(self, name: str) -> None:
        """Test one property. Raises NotConforming for the simplest case found, SkipTest if it does not apply."""
        __tracebackhide__ = True
        if name not in self.properties:
            raise unknown("property", name, self.properties)
        item, setup = self.properties[name], self.setup()
        reason = item.applies(setup)
        if reason:
            raise unittest.SkipTest(reason)

        def run(case: Any) -> None:
            item.check(self.trial(self, item, setup), case)

        # Hypothesis keeps the cases that failed under this name.
        run.__name__ = re.sub(r"\W", "_", f"{type(self).__module__}.{type(self).__qualname__}.{name}")
        test = _settings(self.max_examples)(given(item.cases(setup))(run))
        try:
            test()
        except NotConforming as e:
            raise e.with_traceback(None) from None  # its message is complete


def _check_settings(cls: type) -> None:
    """Raises Error for an attribute whose name resembles a setting, or a field of the policy: it would have no effect.

    Other names are the user's own, and so are functions, lists and what begins with an underscore.
    """
    known = [n for base in cls.__mro__[1:] for n in vars(base).get("__annotations__", {}) if n not in _NOT_SETTINGS]
    policy = {f.name for f in dataclasses.fields(Policy)} if "policy" in known else set()
    for name, value in vars(cls).items():
        if name.startswith("_") or name in known or not isinstance(value, (str, bool, int, float, tuple, Policy)):
            continue
        if name in policy:
            more = " or roundings = ..., of a model that is told which" if name == "rounding" else ""
            raise Error(f"{cls.__name__}: {name} is a field of the policy; set policy = Policy({name}=...){more}")
        if close := difflib.get_close_matches(name, known, n=1, cutoff=_MISSPELT_RATIO):
            raise Error(f"{cls.__name__}: no setting {name!r}; did you mean {close[0]}? (begin your own with _)")


def _settings(count: int | None) -> settings:
    """The current profile's; quiet, since the failure's own message shows the case, and unexplained: the lines that
    only failures run are those of our message."""
    more: dict[str, Any] = {} if count is None else {"max_examples": count}
    assert settings.default is not None
    quiet = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
    return settings(
        deadline=None,
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        print_blob=False,
        phases=[p for p in settings.default.phases if p != Phase.explain],
        suppress_health_check=quiet,
        **more,
    )


def _test(item: Property[Any]) -> Callable[[Any], None]:
    def test(self: ConformanceSuite[Any, Any, Any]) -> None:
        __tracebackhide__ = True
        self.check(item.name)

    test.__name__ = test.__qualname__ = PREFIX + item.name
    test.__doc__ = item.statement
    return test


def model_code(x: Any, what: str) -> int:
    """A code that a model returned, as a plain int. Raises Error for anything else."""
    index = getattr(x, "__index__", None)
    if index is None or isinstance(x, bool):
        raise Error(f"the model returned {x!r} as {what}; a code is an integer that is not negative")
    code = int(index())
    if code < 0:
        raise Error(f"the model returned {code} as {what}; a code is not negative (mask it to its width)")
    return code


def answer_of(answered: Any) -> Answer:
    """What a model returned, a code or (code, flags), as an answer. Raises Error for anything else."""
    pair = answered if isinstance(answered, tuple) else (answered, None)
    if not 1 <= len(pair) <= 2:
        raise Error(f"the model returned {answered!r}; it returns a code, or a code and flags")
    flags = model_code(pair[1], "flags") if len(pair) > 1 and pair[1] is not None else None
    if flags is not None and flags > MAX_FLAGS:
        raise Error(f"the model returned {flags:x} as flags; they are at most 1f")
    return Answer((model_code(pair[0], "the result"),), flags)


def unit_lines(head: str, view: MismatchView, inputs: Sequence[int], answer: Answer) -> list[str]:
    """The lines that report a case of a unit: operands, the model's answer, the oracle's, and the command that explains
    the case."""
    unit = view.unit
    lines = [head, *view.operand_lines(inputs), f"  got      {view.answer_text(answer.result, answer.flags)}"]
    try:
        result, *flags = unit.answer(inputs)
        lines.append(f"  oracle   {view.answer_text(result, flags[0] if flags else None)}")
    except Undefined as e:
        lines.append(f"  oracle   {e}")
    return [*lines, f"  {view.command(inputs, answer)}"]
