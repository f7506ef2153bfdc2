"""What Yosys' front ends read otherwise than IEEE 1800 says: both of them (Yosys 0.70) memory files (21.4), its own one
constants and indices, as a campaign of random constants found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error
from softfloat_ref.base.files import read_text
from softfloat_ref.proof.constructs import Nodes, variable_indices, variables
from softfloat_ref.rtl.module_ports import Elaborated

_REALS: Final = {"RealLiteral", "TimeLiteral", "RealKeyword", "ShortRealKeyword", "RealTimeKeyword"}
_REAL_FUNCTIONS: Final = re.compile(
    r"\$(itor|bitsto(short)?real|realtime|ln|log10|exp|sqrt|pow|floor|ceil|hypot|a?(sin|cos|tan)h?)"
)
_EQUALITIES: Final = ("Equality", "Inequality", "CaseEquality", "CaseInequality")
_CHECKED_KINDS: Final = ("UnaryOp", "BinaryOp", "Conversion", "Call")
_OPERATORS: Final = ("UnaryOp", "BinaryOp", "ConditionalOp")
_SINGLE_VALUES: Final = ("NamedValue", "IntegerLiteral")
_BIT_COUNTS: Final = ("$countones", "$countbits")
_ONE_HOT_TESTS: Final = ("$onehot", "$onehot0")
_NAMES_AND_NUMBERS: Final = ("IdentifierName", "IntegerLiteralExpression", "IntegerVectorExpression")
_AT_RUN_TIME: Final = re.compile(r"Statement$|^ContinuousAssign$|Block$|PortConnection$|^NetDeclaration$")
_SIZE_PLACES: Final = re.compile(r"Dimension$|Generate$")
_CONSTANT_PLACES: Final = re.compile(
    r"^ParameterDeclaration$|ParamAssignment$|Dimension$|Generate$|^TypedefDecl|^DataDecl"
)
_COMMENT: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD: Final = re.compile(r"@[0-9a-fA-F]+|[0-9a-fA-F_xXzZ]+")


def check_memory_files(paths: Iterable[Path], frontend: str) -> None:
    """Raise Error for a file that the front end may read as another one. When the last word of a memory is loaded,
    slang's loses what follows in the line, and Yosys' own what follows in the file; that matters where it has an
    address. Both take # for a comment."""
    for path in paths:
        text = _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), read_text(path, limits.SOURCE))
        addresses = 0
        for number, line in enumerate(text.splitlines(), 1):
            words = line.split()
            for place, word in enumerate(words):
                if not _WORD.fullmatch(word):
                    raise Error(f"{path}:{number}: {word!r} is neither a number nor an address for Yosys")
                addresses += word.startswith("@")
                if word.startswith("@") and (place if frontend == "slang" else addresses > 1):
                    remedy = "begin a new line" if frontend == "slang" else "use the front end slang"
                    raise Error(f"{path}:{number}: Yosys does not read the words at {word}; {remedy}")


def misread(design: Elaborated, nodes: Nodes) -> Iterator[str]:
    """What the front end may read wrongly, with the line, in modules that are used, and in packages."""
    for location, text in (*_syntax(design, nodes), *_expressions(nodes), *_indices(nodes)):
        yield f"{design.place(location)}: {text}, which --frontend verilog may read wrongly; use the front end slang"


def _syntax(design: Elaborated, nodes: Nodes) -> Iterator[tuple[Any, str]]:
    used = {body.definition.syntax for body in nodes.get("InstanceBody", ())}
    skip, places = design.slang.ast.VisitAction.Skip, list[tuple[Any, str]]()

    def visit(node: Any) -> Any:
        kind = node.kind.name
        if kind in ("ModuleDeclaration", "InterfaceDeclaration") and node not in used:
            return skip
        if kind in _REALS or (kind == "SystemIdentifier" and _REAL_FUNCTIONS.fullmatch(node.valueText)):
            places.append((node.location, "a real number"))
        elif kind == "ParameterDeclaration" and _is_signed_alone(node.type):
            places.append((node.sourceRange.start, "a signed parameter without a range"))
        elif kind == "CastExpression" and node.left.kind.name.endswith("Type"):
            places.append((node.sourceRange.start, "a cast to a type"))
        elif kind == "CastExpression" and _is_constant(node, _SIZE_PLACES) and not _is_name(node.right.expression):
            places.append((node.sourceRange.start, "a cast of an expression in a constant"))
        elif kind == "InvocationExpression" and _is_constant(node, _CONSTANT_PLACES) and not _is_plain(node):
            places.append((node.sourceRange.start, "a function of an expression in a constant"))
        return None

    for tree in design.body.compilation.getSyntaxTrees():
        tree.root.visit(visit)
    yield from places


def _is_signed_alone(kind: Any) -> bool:
    implicit = kind.kind.name == "ImplicitType" and len(kind.dimensions) == 0
    return bool(implicit and str(kind.signing).strip() == "signed")


def _is_constant(node: Any, places: re.Pattern[str]) -> bool:
    """Whether a piece of syntax stands where something is evaluated before the circuit works."""
    while node is not None and not places.search(node.kind.name):
        if _AT_RUN_TIME.search(node.kind.name):
            return False
        node = node.parent
    return node is not None


def _is_plain(call: Any) -> bool:
    """Whether a function is Yosys' own, or its arguments are names and literals."""
    if str(call.left).strip().startswith("$"):
        return True
    arguments = [a for a in call.arguments.parameters if hasattr(a, "expr")] if call.arguments is not None else []
    return all(_is_name(getattr(a.expr, "expr", a.expr)) for a in arguments)


def _is_name(syntax: Any) -> bool:
    return syntax.kind.name in _NAMES_AND_NUMBERS


def _expressions(nodes: Nodes) -> Iterator[tuple[Any, str]]:
    """Signed names of enumerations in arithmetic; constants in casts and functions."""
    looked_at = [node for kind in _CHECKED_KINDS for node in nodes.get(kind, ())]

    def visit(node: Any) -> None:
        if node.kind.name in _CHECKED_KINDS:
            looked_at.append(node)

    for parameter in nodes.get("Parameter", ()):
        if parameter.initializer is not None:
            parameter.initializer.visit(visit)
    for node in looked_at:
        kind, place = node.kind.name, node.sourceRange.start
        if kind == "Conversion" and node.conversionKind.name == "Explicit":
            wider = node.type.bitWidth >= node.operand.type.bitWidth
            if wider and node.operand.kind.name in _OPERATORS and not variables(node.operand):
                yield place, "a cast of an expression of constants to more bits"
        elif kind == "Call" and node.isSystemCall:
            if any(a.kind.name == "UnbasedUnsizedIntegerLiteral" for a in node.arguments):
                yield place, f"{node.subroutineName} of a literal without a width"
            elif node.subroutineName in _BIT_COUNTS:
                yield place, f"{node.subroutineName}, a signed number"
            elif node.subroutineName in _ONE_HOT_TESTS and not (
                variables(node) or node.arguments[0].kind.name in _SINGLE_VALUES
            ):
                yield place, f"{node.subroutineName} of an expression of constants"
        elif kind in ("UnaryOp", "BinaryOp"):
            yield from ((place, "arithmetic of a signed enumeration") for x in _operands(node) if _is_signed_name(x))


def _operands(node: Any) -> tuple[Any, ...]:
    if node.kind.name == "UnaryOp":
        return (node.operand,)
    return () if node.op.name in _EQUALITIES else (node.left, node.right)


def _is_signed_name(operand: Any) -> bool:
    """Whether an expression is a name of an enumeration of signed numbers."""
    while operand.kind.name == "Conversion":
        operand = operand.operand
    named = operand.kind.name == "NamedValue" and operand.symbol.kind.name == "EnumValue"
    return bool(named and operand.type.isSigned)


def _indices(nodes: Nodes) -> Iterator[tuple[Any, str]]:
    """Indices of arrays that may lie beyond them, whose high bits are dropped."""
    for node in variable_indices(nodes):
        index, kind = node.selector, node.value.type.canonicalType
        while index.kind.name == "Conversion" and not index.operand.type.isSigned:
            index = index.operand
        beyond = kind.range.lower > 0 or kind.range.upper < (1 << index.type.bitWidth) - 1
        if beyond or index.type.isSigned:
            yield node.sourceRange.start, "an index that may lie beyond the array"
