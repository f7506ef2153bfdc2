"""A circuit's source with all its bugs behind its input `defect`, for the circuit's own bench: `+defect=57`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.module_ports import elaborate

from .bugs import Bug, module, module_name
from .circuits import Circuit


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
    body = "\n".join(_body(circuit, edited))
    return "\n".join([*copies, f"// defect selects:\n{listed}", text[start:end], f"{body}\nendmodule\n"])


def _body(circuit: Circuit, bugs: Sequence[Bug]) -> Iterator[str]:
    module = elaborate([circuit.source], circuit.name)
    values = ", ".join(f".{name}({name})" for name in module.parameters)
    outputs = [p.name for p in module.ports.values() if p.direction == "output"]
    inputs = [p.name for p in module.ports.values() if p.direction == "input" and p.name != "defect"]
    for n, name in [(0, f"{circuit.name}_0"), *((b.number, module_name(circuit, b)) for b in bugs)]:
        yield from (f"  wire [$bits({output})-1:0] {output}_{n};" for output in outputs)
        wires = [f".{i}({i})" for i in inputs] + [f".{output}({output}_{n})" for output in outputs]
        wires.append(".defect(8'd0)" if n else ".defect(defect)")
        yield f"  {name} #({values}) copy_{n} ({', '.join(wires)});"
    yield "  always_comb begin"
    yield from (f"    {output} = {output}_0;" for output in outputs)
    for b in bugs:
        chosen = " ".join(f"{output} = {output}_{b.number};" for output in outputs)
        yield f"    if (defect == {b.number}) begin {chosen} end"
    yield "  end"
