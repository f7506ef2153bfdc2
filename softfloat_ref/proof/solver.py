"""Whether terms can be true at once: Bitwuzla, and other solvers for a second opinion on SMT-LIB text."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from softfloat_ref.base.errors import Error, missing, unknown
from softfloat_ref.base.executors import signals_wait
from softfloat_ref.symbolic.smtlib import script
from softfloat_ref.symbolic.terms import Term, subterms

Result = Literal["unsat", "sat", "unknown"]
_DECIMAL_BITS: Final = 14_000  # of constants; Python refuses to write longer ones in decimal
_COMMUTING: Final = ("and", "or", "xor", "add", "mul", "eq")


@dataclass(frozen=True)
class Found:
    """A solver's answer, and the seconds it took. model: for sat, the values of the variables."""

    result: Result
    seconds: float
    model: Mapping[str, int] = field(default_factory=dict)


def _bitwuzla() -> Any:
    try:
        import bitwuzla
    except ImportError:
        raise missing("bitwuzla", "prove") from None
    return bitwuzla


def solve(assertions: Sequence[Term], limit_s: float) -> Found:
    """Whether the assertions, of one bit each, can be true at once; unknown after the time limit. Raises Error without
    Bitwuzla."""
    if any(a.is_const and not a.value for a in assertions):
        return Found("unsat", 0.0)
    return Wishes(assertions).ask((), limit_s)


class Wishes:
    """Assertions to which terms are added one by one. Raises Error without Bitwuzla."""

    def __init__(self, assertions: Sequence[Term]) -> None:
        self._translated = _Translation(_bitwuzla())
        self._solver = self._translated.solver()
        for assertion in assertions:
            self._solver.assert_formula(self._translated.truth(assertion))

    def ask(self, terms: Sequence[Term], limit_s: float) -> Found:
        """Whether these terms can be true, too."""
        truths, results = [self._translated.truth(t) for t in terms], self._translated.lib.Result
        begin = time.thread_time()  # of the processor: what else it does changes no verdict
        with signals_wait() as came:
            self._solver.configure_terminator(lambda: bool(came) or time.thread_time() - begin > limit_s)
            result = self._solver.check_sat(*truths)
        seconds = time.thread_time() - begin
        if result == results.UNSAT:
            return Found("unsat", seconds)
        if result != results.SAT:
            return Found("unknown", seconds)
        return Found("sat", seconds, self._translated.values(self._solver))

    def model(self, term: Term, limit_s: float) -> Mapping[str, int] | None:
        """The variables' values where a term is true too; None if there are none, or none in time."""
        answer = self.ask([term], limit_s)
        return answer.model if answer.result == "sat" else None

    def keep(self, term: Term) -> None:
        """Add a term."""
        self._solver.assert_formula(self._translated.truth(term))


class _Translation:
    """Terms as Bitwuzla's."""

    def __init__(self, lib: Any) -> None:
        self.lib, self.manager = lib, lib.TermManager()
        self.known: dict[Term, Any] = {}
        self.variables: dict[str, Any] = {}
        kinds = lib.Kind
        self.kinds = {
            "not": kinds.BV_NOT, "neg": kinds.BV_NEG, "and": kinds.BV_AND, "or": kinds.BV_OR, "xor": kinds.BV_XOR,
            "add": kinds.BV_ADD, "sub": kinds.BV_SUB, "mul": kinds.BV_MUL, "udiv": kinds.BV_UDIV,
            "urem": kinds.BV_UREM, "concat": kinds.BV_CONCAT, "shl": kinds.BV_SHL, "lshr": kinds.BV_SHR,
            "ashr": kinds.BV_ASHR, "eq": kinds.EQUAL, "ult": kinds.BV_ULT, "slt": kinds.BV_SLT,
        }  # fmt: skip

    def solver(self) -> Any:
        options = self.lib.Options()
        options.set(self.lib.Option.PRODUCE_MODELS, True)
        return self.lib.Bitwuzla(self.manager, options)

    def values(self, solver: Any) -> dict[str, int]:
        """The variables' values in a solver's model."""
        return {k: int(solver.get_value(v).value(10)) for k, v in self.variables.items()}

    def truth(self, root: Term) -> Any:
        """A bit as a formula."""
        for term in subterms([root]):
            if term not in self.known:
                self.known[term] = self._operation(term, [self.known[a] for a in term.args])
        return self._is_set(self.known[root])

    def _value(self, value: int, width: int) -> Any:
        return self.manager.mk_bv_value(self.manager.mk_bv_sort(width), value)

    def _is_set(self, bit: Any) -> Any:
        return self.manager.mk_term(self.lib.Kind.EQUAL, [bit, self._value(1, 1)])

    def _operation(self, term: Term, args: list[Any]) -> Any:
        manager, kinds = self.manager, self.lib.Kind
        if term.op == "const":
            return self._value(term.value, term.width)
        if term.op == "var":
            self.variables[term.value] = manager.mk_const(manager.mk_bv_sort(term.width), term.value)
            return self.variables[term.value]
        if term.op in ("eq", "ult", "slt"):
            return manager.mk_term(
                kinds.ITE, [manager.mk_term(self.kinds[term.op], args), self._value(1, 1), self._value(0, 1)]
            )
        if term.op == "ite":
            return manager.mk_term(kinds.ITE, [self._is_set(args[0]), *args[1:]])
        if term.op == "extract":
            return manager.mk_term(kinds.BV_EXTRACT, args, list(term.value))
        if term.op in ("zext", "sext"):
            return self._extended(args[0], term.width - term.args[0].width, term.op == "sext")
        if term.op in ("shl", "lshr", "ashr"):
            return self._shifted(term, *args)
        return manager.mk_term(self.kinds[term.op], args)

    def _extended(self, a: Any, bits: int, signed: bool = False) -> Any:
        kind = self.lib.Kind.BV_SIGN_EXTEND if signed else self.lib.Kind.BV_ZERO_EXTEND
        return self.manager.mk_term(kind, [a], [bits]) if bits else a

    def _shifted(self, term: Term, a: Any, by: Any) -> Any:
        """Its operands have one width in SMT-LIB."""
        more = term.args[1].width - term.width
        if more <= 0:
            return self.manager.mk_term(self.kinds[term.op], [a, self._extended(by, -more)])
        wide = self.manager.mk_term(self.kinds[term.op], [self._extended(a, more, term.op == "ashr"), by])
        return self.manager.mk_term(self.lib.Kind.BV_EXTRACT, [wide], [term.width - 1, 0])


def query_hash(assertions: Sequence[Term]) -> str:
    """SHA-256 of the assertions, each term by its operation, width, value and the hashes of its arguments."""
    known: dict[Term, bytes] = {}
    for term in subterms(assertions):
        args = [known[a] for a in term.args]
        args = sorted(args) if term.op in _COMMUTING else args
        value = f"{term.value:#x}" if term.is_const and term.width > _DECIMAL_BITS else term.value
        head = f"{term.op} {term.width} {value} ".encode()
        known[term] = hashlib.sha256(head + b"".join(args)).digest()
    return hashlib.sha256(b"".join(sorted(known[a] for a in assertions))).hexdigest()


# -- a second opinion ----------------------------------------------------------------------------------------------


def confirm(assertions: Sequence[Term], solver: str, limit_s: float) -> Found:
    """The answer of another solver. Raises Error for one that is unknown or not installed."""
    return answer_text(script(assertions), solver, limit_s)


def answer_text(text: str, solver: str, limit_s: float) -> Found:
    """The answer of a solver, by name, to a script in SMT-LIB. Raises Error."""
    if solver not in SOLVERS:
        raise unknown("solver", solver, SOLVERS)
    begin = time.monotonic()
    text_result = SOLVERS[solver](text, limit_s)
    return Found(text_result if text_result in ("sat", "unsat") else "unknown", time.monotonic() - begin)  # type: ignore[arg-type]


def _cvc5(text: str, limit_s: float) -> str:
    try:
        import cvc5
    except ImportError:
        raise Error("cvc5 is not installed: pip install cvc5") from None
    manager = cvc5.TermManager()
    solver = cvc5.Solver(manager)
    solver.setOption("tlimit-per", str(int(limit_s * 1000)))
    solver.setOption("fp-exp", "true")  # floating-point formats of any size
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "query")
    output = ""
    while not (command := parser.nextCommand()).isNull():
        output = str(command.invoke(solver, parser.getSymbolManager())).strip() or output
    return output


def _z3(text: str, limit_s: float) -> str:
    try:
        import z3
    except ImportError:
        raise Error("z3 is not installed: pip install z3-solver") from None
    solver = z3.Tactic("qffpbv").solver() if "QF_BVFP" in text else z3.Solver()
    solver.set("timeout", int(limit_s * 1000))
    solver.from_string(text)
    return str(solver.check())


def _bitwuzla_text(text: str, limit_s: float) -> str:
    lib = _bitwuzla()
    begin = time.thread_time()
    parser = lib.Parser(lib.TermManager(), lib.Options())
    with signals_wait() as came:
        parser.configure_terminator(lambda: bool(came) or time.thread_time() - begin > limit_s)
        parser.parse(text.replace("(check-sat)", ""), True, False)
        result = parser.bitwuzla().check_sat()
    return str(result).rpartition(".")[2].lower()


SOLVERS: Final[dict[str, Callable[[str, float], str]]] = {"bitwuzla": _bitwuzla_text, "cvc5": _cvc5, "z3": _z3}
