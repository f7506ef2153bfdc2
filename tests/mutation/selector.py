"""A circuit's source with all its bugs behind its input `defect`, for the circuit's own bench: `+defect=57`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from softfloat_ref.errors import Error

from .bugs import Bug, module, module_name
from .circuits import Circuit

_PORT = re.compile(r"^    (input|output) +logic +(\[\S+\])? *(\w+)", re.M)
_PARAMETER = re.compile(r"^    parameter .*?(\w+) += ", re.M)


def source(circuit: Circuit, bugs: Sequence[Bug]) -> str:
    """The correct circuit and the wrong ones as modules of other names, and a module of its name that has all of them
    and gives what the chosen one gives. Raises Error where it has no input `defect`."""
    if not circuit.selects_bugs:
        raise Error(f"{circuit.name} has no input `defect`; choose another circuit")
    text = circuit.source.read_text()
    start, end = text.index(f"\nmodule {circuit.name} "), text.index("\n);\n") + len("\n);\n")
    edited = [b for b in bugs if b.edits]
    correct = text.replace(f"\nmodule {circuit.name} ", f"\nmodule {circuit.name}_0 ")
    listed = "\n".join(f"//  {b.number:>3}  {b.text}" for b in edited)
    copies = [correct, *(module(circuit, b) for b in edited)]
    body = "\n".join(_body(circuit, text[start:end], edited))
    return "\n".join([*copies, f"// defect selects:\n{listed}", text[start:end], f"{body}\nendmodule\n"])


def _body(circuit: Circuit, header: str, bugs: Sequence[Bug]) -> Iterator[str]:
    ports = _PORT.findall(header)
    values = ", ".join(f".{name}({name})" for name in _PARAMETER.findall(header))
    outputs = [(width, name) for way, width, name in ports if way == "output"]
    inputs = [name for way, _, name in ports if way == "input" and name != "defect"]
    for n, name in [(0, f"{circuit.name}_0"), *((b.number, module_name(circuit, b)) for b in bugs)]:
        yield from (f"  wire {width} {output}_{n};" for width, output in outputs)
        wires = [f".{i}({i})" for i in inputs] + [f".{output}({output}_{n})" for _, output in outputs]
        wires.append(".defect(8'd0)" if n else ".defect(defect)")
        yield f"  {name} #({values}) copy_{n} ({', '.join(wires)});"
    yield "  always_comb begin"
    yield from (f"    {output} = {output}_0;" for _, output in outputs)
    for b in bugs:
        chosen = " ".join(f"{output} = {output}_{b.number};" for _, output in outputs)
        yield f"    if (defect == {b.number}) begin {chosen} end"
    yield "  end"
