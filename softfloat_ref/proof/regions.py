"""Text between `// synthesis translate_off` and `translate_on`, which a simulator reads and Yosys does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

_TEXT: Final = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_SWITCH: Final = re.compile(
    r"/[/*]\s*(?:synopsys|synthesis|pragma|xilinx)\s+(?:translate|synthesis)_(off|on)\b", re.IGNORECASE
)
_CHECKS: Final = {  # items that do not change a circuit, as long as they assign nothing
    *("InitialBlock", "FinalBlock", "AlwaysBlock", "AlwaysFFBlock", "AlwaysCombBlock", "EmptyMember"),
    *("ConcurrentAssertionMember", "ImmediateAssertionMember", "PropertyDeclaration", "SequenceDeclaration"),
    *("DefaultClockingReference", "ClockingDeclaration", "DefaultDisableDeclaration", "CovergroupDeclaration"),
}
_NAMES: Final = {"DataDeclaration", "FunctionDeclaration", "TaskDeclaration", "ModuleDeclaration"}  # if not used
_NAMING: Final = {"Declarator", "FunctionPrototype", "ModuleHeader"}
_ACTS: Final = re.compile(
    r"AssignmentExpression$|crement|^Procedural(Assign|Force|Release|Deassign)|Disable|^Return|^Jump"
)


def hidden(slang: Any, files: Iterable[Path]) -> Iterator[str]:
    """Text that only a simulator reads, and that may change a result, with its line."""
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        regions = list(_regions(text))
        for begin, end in regions:
            if not _harmless(slang, text[begin:end], text[:begin] + text[end:]):
                line = text.count("\n", 0, begin) + 1
                yield f"{file}:{line}: after translate_off, only a simulator reads what may change a result; remove it"


def _regions(text: str) -> Iterator[tuple[int, int]]:
    begin = None
    for comment in _TEXT.finditer(text):
        switch = _SWITCH.match(comment[0])
        if switch is not None and switch[1].lower() == "off" and begin is None:
            begin = comment.end()
        elif switch is not None and switch[1].lower() == "on" and begin is not None:
            yield begin, comment.start()
            begin = None
    if begin is not None:
        yield begin, len(text)


def _harmless(slang: Any, text: str, rest: str) -> bool:
    """Whether the text is whole items or statements that assign nothing, or initial blocks, or names that the rest of
    the file does not have."""
    text = text.replace("\\\n", "\n")  # within a macro
    for before, after in (("", ""), ("initial begin", "end")):
        tree = slang.syntax.SyntaxTree.fromText(f"module m; {before}\n{text}\n{after} endmodule")
        if not any(d.isError() for d in tree.diagnostics) and tree.root.kind.name == "ModuleDeclaration":
            members = list(tree.root.members)
            if before and len(members) == 1 and not _acting(members[0]):
                return True
            if not before and not any(_changes(member, rest) for member in members):
                return True
    return False


def _changes(member: Any, rest: str) -> bool:
    kind = member.kind.name
    if kind in _NAMES:
        names: list[str] = []
        member.visit(lambda n: names.append(str(n.name).strip()) if _kind(n) in _NAMING else None)
        return any(re.search(rf"\b{re.escape(name)}\b", rest) for name in names)
    return kind not in _CHECKS or (kind.startswith("Always") and _acting(member))


def _kind(node: Any) -> str:
    return str(getattr(getattr(node, "kind", None), "name", ""))


def _acting(node: Any) -> bool:
    """Whether anything is assigned in a piece of syntax, or a task called that may do so."""
    found: list[Any] = []

    def visit(part: Any) -> None:
        kind = _kind(part)
        if _ACTS.search(kind) or (kind == "InvocationExpression" and not str(part.left).strip().startswith("$")):
            found.append(part)

    node.visit(visit)
    return bool(found)
