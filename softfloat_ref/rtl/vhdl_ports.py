"""The ports of a VHDL entity as bits, by GHDL's own conversions, and the bench that drives it with them.

`ghdl --synth` writes an entity's ports with their types, and how each number in them is a part of a vector: members of
records, elements of arrays, enumerations, integers. Of an entity with the modes of its ports exchanged, it writes the
conversions that a bench needs; so no type is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from softfloat_ref.base.errors import Error

_CONTEXT: Final = r"^(?:library|use|context) [^\n]*;\n"
_PORT: Final = re.compile(r"^    ([^:\n]+): (in|out|buffer|inout|linkage) (.*?);?$", re.MULTILINE)
_GENERIC: Final = re.compile(r"^    ([^:\n]+): ", re.MULTILINE)
_WRAPPED: Final = re.compile(r"^  signal wrap_(\w+): (?:std_logic|typwrap_\w+);$", re.MULTILINE)
_WIDTH: Final = re.compile(r"^  subtype typwrap_(\w+) is std_logic_vector \((\d+) downto 0\);$", re.MULTILINE)
_DECLARATION: Final = re.compile(r"^  (?:subtype typwrap_|signal wrap_)[^\n]*;$", re.MULTILINE)
_STATEMENT: Final = re.compile(r"^  (?P<to>[^\n]+?) <= (?P<of>[^\n]+);$", re.MULTILINE)
_OPPOSITE: Final = {"in": "out", "out": "in", "buffer": "in"}
DRIVER: Final = "softfloat_ref_driver"
REPLAY: Final = "softfloat_ref_replay"
STIMULI: Final = "stimuli.txt"
RESPONSES: Final = "responses.txt"
# Each line of `stimuli` has the bits of all inputs, of `responses` those of all outputs: 0, 1 or X. The clock changes
# first, then the other inputs: as in the simulation of the netlist, a register takes what was there before the clock's
# edge.
_REPLAY: Final = """\
{context}library ieee;
use ieee.std_logic_1164.all;
use ieee.numeric_std.all;

entity {replay} is
{generics}end entity;

architecture replay of {replay} is
{signals}
{declarations}
begin
  {replay}_unit : entity work.{entity} {generic_map}port map (
    {port_map});
{statements}
  {replay}_process : process
    file {replay}_stimuli : std.textio.text open read_mode is "{stimuli}";
    file {replay}_responses : std.textio.text open write_mode is "{responses}";
    variable {replay}_line : std.textio.line;
    variable {replay}_bits : std_logic_vector({width} - 1 downto 0);
  begin
    while not std.textio.endfile({replay}_stimuli) loop
      std.textio.readline({replay}_stimuli, {replay}_line);
      for {replay}_bit in {replay}_bits'range loop
        case {replay}_line({replay}_line'low + {width} - 1 - {replay}_bit) is
          when '0' => {replay}_bits({replay}_bit) := '0';
          when '1' => {replay}_bits({replay}_bit) := '1';
          when others => {replay}_bits({replay}_bit) := 'X';
        end case;
      end loop;
      std.textio.deallocate({replay}_line);
{assigned}
      wait for 1 ns;
      std.textio.write({replay}_line, {written});
      std.textio.writeline({replay}_responses, {replay}_line);
      std.textio.flush({replay}_responses);
    end loop;
    wait;
  end process;
end architecture;
"""


@dataclass(frozen=True)
class Vector:
    """A port of the netlist: a vector, or a bit. leaves: the numbers in it, the highest first, with their widths:
    members of a record in a record; itself, if it is a number or an array of numbers."""

    name: str
    width: int
    leaves: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class EntityText:
    """An entity as GHDL writes it. context: its library and use clauses; generics: its generic clause, or nothing;
    ports: mode and type of each."""

    name: str
    context: str
    generics: str
    ports: Mapping[str, tuple[str, str]]

    @property
    def generic_names(self) -> list[str]:
        """The names of its generics."""
        return [name.strip() for names in _GENERIC.findall(self.generics) for name in names.split(",")]

    def driver(self) -> str:
        """An entity whose outputs are this one's inputs, and its inputs this one's outputs."""
        ports = ";\n".join(f"    {n}: {_OPPOSITE[mode]} {kind}" for n, (mode, kind) in self.ports.items())
        return (
            f"{self.context}entity {DRIVER} is\n{self.generics}  port (\n{ports}\n  );\nend entity;\n"
            f"architecture rtl of {DRIVER} is begin end architecture;\n"
        )


def read_entity(text: str, name: str) -> EntityText:
    """The entity of that name in what `ghdl --synth` writes. Raises Error for ports that are not in or out."""
    clause = r"(?P<generics>  generic \(\n.*?^  \);\n)?  port \(\n(?P<ports>.*?)^  \);\n"
    pattern = rf"(?P<context>(?:{_CONTEXT})*)^entity (?P<name>{re.escape(name)}) is\n{clause}"
    match = re.search(pattern, text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    if match is None:
        raise Error(f"GHDL writes no ports of entity {name}")
    ports: dict[str, tuple[str, str]] = {}
    for names, mode, kind in _PORT.findall(match["ports"]):
        for port in names.split(","):
            if "\\" in port:
                raise Error(f"entity {name}: port {port.strip()} is an extended identifier; give it a plain name")
            if mode not in _OPPOSITE:
                raise Error(
                    f"entity {name}: port {port.strip()} is {mode}; a port map connects inputs and outputs only"
                )
            ports[port.strip()] = mode, kind.partition(":=")[0].strip()
    return EntityText(match["name"], match["context"], match["generics"] or "", ports)


@dataclass(frozen=True)
class EntityBits:
    """The ports of an entity as vectors. inputs, outputs: in the order of its ports; declarations, statements: VHDL
    that makes the ports of vectors, and vectors of the ports; types: of inputs that are enumerations, by the number."""

    entity: EntityText
    inputs: tuple[Vector, ...]
    outputs: tuple[Vector, ...]
    declarations: str
    statements: str
    types: Mapping[str, str]

    def replay(self, generics: Mapping[str, str], clock: str | None) -> str:
        """The text of the bench that replays the inputs of a simulation. clock: the name of an input."""
        entity, width, high = self.entity, sum(v.width for v in self.inputs), sum(v.width for v in self.inputs)
        assigned: list[tuple[bool, str]] = []
        for vector in self.inputs:
            bits = f"({high - 1} downto {high - vector.width})" if _is_vector(vector, self) else f"({high - 1})"
            high -= vector.width
            assigned.append((vector.name == clock, f"      wrap_{vector.name} <= {REPLAY}_bits{bits};"))
        lines = [line for is_clock, line in assigned if is_clock]
        lines += [*(["      wait for 0 ns;"] if lines else []), *(line for is_clock, line in assigned if not is_clock)]
        names = ", ".join(f"{name} => {name}" for name in entity.generic_names)
        return _REPLAY.format(
            replay=REPLAY,
            stimuli=STIMULI,
            responses=RESPONSES,
            entity=entity.name,
            context=entity.context,
            generics=entity.generics,
            generic_map=f"generic map ({names}) " if names else "",
            port_map=",\n    ".join(f"{name} => {name}" for name in entity.ports),
            signals="\n".join(f"  signal {name} : {kind}{_zero(kind)};" for name, (_, kind) in entity.ports.items()),
            declarations=re.sub(r"(signal wrap_\w+: ([^;\n]*));", lambda x: f"{x[1]}{_zero(x[2])};", self.declarations),
            statements=self.statements,
            width=max(width, 1),
            assigned="\n".join(lines),
            written=" & ".join(map(self._written, self.outputs)) or '""',
        )

    def _written(self, vector: Vector) -> str:
        return f"to_string(to_x01(std_logic_vector'({_slice(vector, self)})))"


def _zero(kind: str) -> str:
    """The initial value of a signal, so that nothing is undefined before the first inputs; none for types whose
    zero is not known."""
    if re.fullmatch(r"(?:std_u?logic|bit)", kind, re.IGNORECASE):
        return " := '0'"
    vector = r"(?:typwrap_\w+|(?:u_)?(?:std_u?logic_vector|bit_vector|unsigned|signed))"
    return " := (others => '0')" if re.fullmatch(rf"{vector} *(?:\(.*\))?", kind, re.IGNORECASE) else ""


def _is_vector(vector: Vector, bits: EntityBits) -> bool:
    return f"typwrap_{vector.name} is" in bits.declarations


def _slice(vector: Vector, bits: EntityBits) -> str:
    name = f"wrap_{vector.name}"
    return name if _is_vector(vector, bits) else f"(0 => {name})"


def entity_bits(entity: EntityText, written: str) -> EntityBits:
    """The vectors of an entity. written: what `ghdl --synth` writes of its driver. Raises Error."""
    _, _, text = written.partition(f"architecture rtl of {DRIVER} is\n")
    declared, _, body = text.partition("\nbegin\n")
    widths = {name: int(high) + 1 for name, high in _WIDTH.findall(declared)}
    vectors = [Vector(n, widths.get(n, 1), _leaves(n, widths.get(n, 1), body)) for n in _WRAPPED.findall(declared)]
    driving, reading = list[str](), list[str]()
    for match in _STATEMENT.finditer(body):
        if match["to"].startswith("wrap_") and not re.match(r"n\d+_o\b", match["of"]):
            reading.append(match[0])
        elif "wrap_" in match["of"] and not re.match(r"(?:wrap_|n\d+_o\b)", match["to"]):
            driving.append(match[0])
    read = {name.lower() for line in reading for name in re.findall(r"^  wrap_(\w+)", line)}
    known = {name.lower() for line in driving for name in re.findall(r"\bwrap_(\w+)", line)}
    if not vectors or {v.name.lower() for v in vectors} != read | known or read & known:
        raise Error(f"entity {entity.name}: GHDL's conversions of its ports are not understood")
    return EntityBits(
        entity,
        tuple(v for v in vectors if v.name.lower() in known),
        tuple(v for v in vectors if v.name.lower() in read),
        "\n".join(match[0] for match in _DECLARATION.finditer(declared)),
        "\n".join([*driving, *reading]),
        dict(_enumerations(driving)),
    )


def _enumerations(driving: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The inputs that are enumerations, each with its type."""
    for line in driving:
        match = re.match(r"  (?P<path>\S[^\n]*?) <= (?P<type>\w+)'val\b[^\n]*\bwrap_(?P<name>\w+)(?P<part> \()?", line)
        if match is not None:
            name = re.sub(r"\W+", "_", match["path"]).strip("_") if match["part"] else match["name"]
            yield name.lower(), match["type"].lower()


def _leaves(name: str, width: int, statements: str) -> tuple[tuple[str, int], ...]:
    """The numbers in a vector, by the statements that make it of members of records, or them of it."""
    bits = rf"wrap_{name} \((?P<high>\d+)(?: downto (?P<low>\d+))?\)"
    leaves = list[tuple[int, str, int]]()
    for line in re.findall(rf"^  [^\n]*\b(?i:wrap_{name}) \(\d[^\n]*;$", statements, re.MULTILINE):
        match = re.search(bits, line, re.IGNORECASE)
        path = re.search(r"[A-Za-z]\w*(?: *\( *\d+ *\))?(?:\.\w+(?: *\( *\d+ *\))?)+", line)
        if match is None or path is None:
            return ((name, width),)
        high, low = int(match["high"]), int(match["low"] or match["high"])
        leaves.append((low, re.sub(r"\W+", "_", path[0]).strip("_"), high - low + 1))
    if sum(size for *_, size in leaves) != width:
        return ((name, width),)
    return tuple((leaf, size) for _, leaf, size in sorted(leaves, reverse=True))
