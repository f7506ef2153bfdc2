"""Self-checking SystemVerilog benches: the text of a bench for a user's module, from a manifest and a port map."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from softfloat_ref.base.errors import Error
from softfloat_ref.rtl.assumptions import PortAssumptions
from softfloat_ref.rtl.binding import (
    Bound,
    Controls,
    bind,
    check_ignored_operands,
    connections,
    flag_mask,
    signal_name,
    signal_text,
)
from softfloat_ref.rtl.bundle import ALL_FLAGS, BitMove, Wire
from softfloat_ref.rtl.module_ports import bit_literal, instance, string_literal
from softfloat_ref.rtl.port_map import DataPort, PortMap
from softfloat_ref.rtl.tolerance import Excuse, NanTolerance, Tolerance

_CAST: Final = [  # Icarus has no casts to enumerations, and does without
    "`ifdef __ICARUS__",
    "`define SFR_CAST(T, X) X",
    "`else",
    "`define SFR_CAST(T, X) T'(X)",
    "`endif",
]


def top_name(ports: PortMap) -> str:
    """The name of the bench's module."""
    return f"{ports.module}_tb"


def tops_text(name: str, modules: Iterable[str]) -> str:
    """A module that holds several top modules, so that they are simulated together and see each other by name."""
    return "\n".join([f"module {name};", *(f"  {module} {module} ();" for module in modules), "endmodule", ""])


def bench_text(
    manifest: Mapping[str, Any],
    controls: Sequence[Controls],
    ports: PortMap,
    folder: str,
    source: str,
    guesses: Iterable[str] = (),
) -> str:
    """The text of a bench: one SystemVerilog file, for Verilator 5 and Icarus 11.

    controls: the properties of the vectors (units.controls); folder: the folder of the words, unless +vectors=DIR is
    given. guesses: lines of the port map that its draft guessed, which the log of a bench that fails repeats. Raises
    Error if ports and vectors do not fit.
    """
    bound = bind(manifest, controls, ports)
    check_ignored_operands(manifest, ports)
    return fill_template(
        "bench.sv",
        source=" ".join(source.split()),
        module=ports.module,
        file=bound.file,
        top=top_name(ports),
        constants=_constants(bound, ports, folder),
        word_chars=str(_word_chars(bound)),
        instance=instance_text(bound, ports),
        select=_select(bound, ports),
        present=_task("present", _moves("stimulus", bound.stimulus.moves, ["control"])),
        expect=_task("expect_of", _moves("want", bound.got.moves, [bit_literal(bound.got.width, bound.got.constant)])),
        **_excuse(bound, NanTolerance(manifest, bound, ports)),
        record=_record(bound, ports),
        report=_report(bound, ports),
        waiting=_waiting(ports),
        without="; without latency, out_valid alone says when" if _may_vary(ports) else "",
        log_header="".join(f"    if (results != 0) {line}\n" for line in _written(_log_notes(bound, ports))),
        log_footer="".join(f"      {line}\n" for line in _written(PortAssumptions.of(ports, guesses).notes())),
        **_judged(bound, ports),
    )


def _judged(bound: Bound, ports: PortMap) -> dict[str, str]:
    """What differs where results are judged from their log. Raises Error for flags that are not in it."""
    if not ports.is_judged:
        return {"judged_head": "", "unjudged": "", "needs_log": "", "verdict": "PASS: %0d of %0d vectors"}
    if bound.got.carriers("flags") and not _logs_flags(bound, ports):
        raise Error("an error is judged with the flags of each lane, but a port merges them; ignore = ['flags']")
    head = '.\n// An error is allowed: without FAIL, "LOGGED" says that the results in FILE remain to be judged, by\n'
    head += "// `softfloat-ref check --golden DIR --results FILE`"
    needs = [
        'if (path == "") begin',
        '  $display("FAIL: an error is allowed, by which the log of results is judged; +results=FILE writes it");',
        "  $fatal(0);",
        "end",
    ]
    verdict = "LOGGED: %0d of %0d vectors, whose errors remain to be judged"
    lines = "".join(f"    {line}\n" for line in needs)
    return {"judged_head": head, "unjudged": "~JUDGED & ", "needs_log": lines, "verdict": verdict}


def fill_template(template: str, **parts: str) -> str:
    """The text of a file beside this module, with each @name@ replaced by that part."""
    text = Path(__file__).with_name(template).read_text(encoding="utf-8")
    return re.sub(r"@(\w+)@", lambda mark: parts[mark[1]], text)


def _input_width(bound: Bound) -> int:
    return max(1, bound.stimulus.width)


def _word_chars(bound: Bound) -> int:
    lanes = sum(f.lanes for f in bound.fields)
    return bound.word_width // 4 + lanes - 1


def _constants(bound: Bound, ports: PortMap, folder: str) -> str:
    shake, tags = ports.handshake, 1 << ports.tag.width if ports.tag else 1
    numbers = {
        "COUNT": bound.count,
        "LANES": ports.lanes,
        "WORD": bound.word_width,
        "IN_WIDTH": _input_width(bound),
        "OUT_WIDTH": bound.got.width,
        "CHANNELS": shake.channels,
        "LATENCY": ports.latency or 0,
        "IN_STALLS": ports.handshake.stalls if "in_valid" in shake else 0,
        "OUT_STALLS": ports.handshake.stalls if "out_ready" in shake else 0,
        "SEED": ports.handshake.seed,
        "OUTSTANDING": ports.limit,
        "TAG_WIDTH": ports.tag.width if ports.tag else 1,
        "TAGS": 2 * tags if not ports.tag else tags,
        "STICKY_DELAY": ports.sticky.delay if ports.sticky else 0,
        "CLEAR_EVERY": ports.sticky.every if ports.sticky and ports.sticky.clear else 0,
        "TIMEOUT": ports.drain_timeout,
        "RESET_CYCLES": ports.reset.cycles if ports.reset else 0,
        "PAUSES": ports.enable.pauses if ports.enable else 0,
    }
    bits = {
        "CLOCKED": ports.clock is not None,
        "FIXED": ports.latency is not None or ports.clock is None,
        "HAS_IN_VALID": "in_valid" in shake,
        "HAS_OUT_VALID": "out_valid" in shake,
        "TAGGED": ports.tag is not None,
        "STICKY": ports.sticky is not None,
        "JOINT": shake.joint,
        "STABLE": ports.stable,
        "RESET_ACTIVE": ports.reset is not None and ports.reset.active == "high",
        # Around its operations a clocked device gets other operands, so that a wrong latency shows with one vector too;
        # not where flags are sticky, which would gather those operands' flags.
        "SPOILED": ports.clock is not None and ports.sticky is None,
    }
    lines = [
        f"localparam VEC_FILE = {string_literal(bound.file)};",
        f"localparam VEC_FOLDER = {string_literal(folder)};",
    ]
    lines += [f"localparam int {name} = {value};" for name, value in numbers.items()]
    lines += [f"localparam logic {name} = {int(value)};" for name, value in bits.items()]
    lines += [f"localparam logic [OUT_WIDTH-1:0] FLAGS = {bit_literal(bound.got.width, bound.got.flags)};"]
    data = bound.stimulus.carriers()
    lines += [f"localparam logic [IN_WIDTH-1:0] DATA = {bit_literal(_input_width(bound), data)};"]
    lines += [f"localparam logic [CHANNELS*IN_WIDTH-1:0] OPERANDS = {_operands(bound, ports)};"]
    lines += [f"localparam logic [OUT_WIDTH-1:0] ALL = {_all(bound)};"]
    if ports.is_judged:
        judged = bit_literal(bound.got.width, bound.got.carriers())
        lines += [f"localparam logic [OUT_WIDTH-1:0] JUDGED = {judged};"]
    return _indented(lines, 2)


def _operands(bound: Bound, ports: PortMap) -> str:
    """The bits of the stimulus that carry the operands of each valid, side by side."""
    width, groups = _input_width(bound), reversed(ports.handshake.operands)
    masks = [bit_literal(width, bound.stimulus.carriers(*names)) for names in groups]
    return "{" + ", ".join(masks) + "}" if masks else "DATA"


def _all(bound: Bound) -> str:
    if not bound.got.signals:
        return "{OUT_WIDTH{1'b1}}"
    return bit_literal(bound.got.width, (1 << bound.got.width) - 1 & ~bound.got.signals)


def instance_text(bound: Bound, ports: PortMap) -> str:
    """The module under test, and constants for the handshake signals that it does not have."""
    shake = ports.handshake
    wires = ",\n".join(f"  .{c.port}({c.signal})" for c in connections(bound, ports))
    lines = ["wire joint_ready;", "assign in_ready = {CHANNELS{joint_ready}};"] if shake.joint else []
    for signal in shake.signals:
        if signal.whole and not signal.drives and signal.active == "low":
            net = signal_text(signal, ports)
            lines += [f"wire {net};", f"assign {signal_name(signal, ports)} = ~{net};"]
    casts = any(wire.type for wire in bound.stimulus.wires)
    lines += _CAST if casts else []
    lines += [f"{instance(ports.module, ports.parameters)} (", *wires.split("\n"), ");"]
    lines += ["`undef SFR_CAST"] if casts else []
    for wire in bound.got.wires:
        for bit, signal in wire.signals.items():
            if signal.code is not None:
                test = f"got[{wire.lsb}+:{signal.width}] == {bit_literal(signal.width or 1, signal.code)}"
                lines += [f"assign {signal_name(signal, ports)} = {test};"] if bit == 0 else []
                continue
            inverted = "~" if signal.active == "low" else ""
            lines += [f"assign {signal_name(signal, ports)} = {inverted}got[{wire.lsb + bit}];"]
    lines += [] if "in_ready" in shake else ["assign in_ready = {CHANNELS{1'b1}};"]
    lines += [] if "out_valid" in shake else ["assign out_valid = 1'b0;"]
    lines += [] if ports.tag else ["assign tag_out = 1'b0;"]
    return _indented(lines, 2)


def _select(bound: Bound, ports: PortMap) -> str:
    """The task that sets what differs between kinds of vectors, by the control fields of `word`."""
    lines = ["task select;"]
    body = []
    for part in bound.parts:
        control = bit_literal(_input_width(bound), part.control | bound.stimulus.constant)
        sets = [f"control = {control};"]
        sets += [f"channels = {bit_literal(ports.handshake.channels, part.channels)};"]
        sets += [f"care[{i}] = {bit_literal(bound.got.width, c)};" for i, c in enumerate(part.care)]
        body += [f"{_key(bound, part.key)}: begin  // {part.label}", *(f"  {s}" for s in sets), "end"]
    if len(bound.parts) == 1:
        lines += [f"  {line.strip()}" for line in body[1:-1]]
    else:
        lines += [f"  case (word[WORD-1:{bound.key_lsb}])", *(f"    {line}" for line in body)]
        lines += ["    default: begin", "      broken = 1;"]
        lines += ['      $display("FAIL: a word with unknown control fields: %h", word);', "    end", "  endcase"]
    return _indented([*lines, "endtask"], 2)


def _key(bound: Bound, key: int) -> str:
    return bit_literal(bound.word_width - bound.key_lsb, key)


def _moves(target: str, moves: Sequence[BitMove], start: list[str]) -> list[str]:
    """Statements that fill a bundle from the words of an operation."""
    lines: list[str] = []
    lane = -1
    for move in sorted(moves, key=lambda m: m.lane):
        if move.lane != lane:
            lane = move.lane
            lines += [f"word = vectors[pick(beat, {lane})];"]
            lines += ["select;", f"{target} = {start[0]};"] if lane == 0 else []
        to, source = f"{target}[{move.to}+:{move.width}]", f"word[{move.source}+:{move.width}]"
        lines += [f"{to} = {to} | {source};" if move.merge else f"{to} = {source};"]
    return lines or ["word = vectors[pick(beat, 0)];", "select;", f"{target} = {start[0]};"]


def _task(name: str, lines: list[str]) -> str:
    return _indented([f"task {name}(input int beat);", *(f"  {line}" for line in lines), "endtask"], 2)


def _excuse(bound: Bound, tolerance: NanTolerance) -> dict[str, str]:
    """The task that leaves out of the comparison what the port map accepts, and its call; nothing without it."""
    if not any(tolerance.parts):
        return {"excuse": "", "excuse_call": ""}
    lines = [
        *tolerance.nans.lines(),
        "",
        "// Other NaNs, and elements under a NaN scale, as the port map accepts them.",
        "task excuse(input int beat);",
    ]
    if len(tolerance.parts) == 1:
        lines += [f"  {line}" for line in _excused(bound, tolerance.parts[0])]
    else:
        lines += ["  word = vectors[pick(beat, 0)];", f"  case (word[WORD-1:{bound.key_lsb}])"]
        for part, excuses in zip(bound.parts, tolerance.parts, strict=True):
            if excuses:
                body = _excused(bound, excuses)[1:]
                lines += [
                    f"    {_key(bound, part.key)}: begin  // {part.label}",
                    *(f"      {x}" for x in body),
                    "    end",
                ]
        lines += ["    default: ;", "  endcase"]
    return {"excuse": _indented([*lines, "endtask"], 2) + "\n\n", "excuse_call": "\n    excuse(beat);"}


def _excused(bound: Bound, excuses: Sequence[Excuse]) -> list[str]:
    lines, lane = [], -1
    for excuse in sorted(excuses, key=lambda e: e.lane):
        if excuse.lane != lane:
            lane = excuse.lane
            lines += [f"word = vectors[pick(beat, {lane})];"]
        left = f"care[{lane}] = care[{lane}] & ~{bit_literal(bound.got.width, excuse.mask)};"
        lines += [f"if ({excuse.condition}) {left}"]
    return lines


def _record(bound: Bound, ports: PortMap) -> str:
    """The task that writes a line to the log of results.

    It has `-` for each result that the module does not have, and no flags for a module without flags of each lane.
    """
    lines = ["task record(input int index, input int lane);", "  word = vectors[index];"]
    for m in bound.got.moves:
        lines += [f"  if (lane == {m.lane}) word[{m.source}+:{m.width}] = logged[{m.to}+:{m.width}];"]
    parts = []
    for f in (f for f in bound.fields if f.role != "intermediate"):
        has = f.role not in ("result", "flags") or bound.got.carriers(f.name)
        if f.role == "flags" and not _logs_flags(bound, ports):
            continue
        for i in range(f.lanes):
            code = f"word[{f.lane(i)}+:{f.width}]"
            code += (
                f" & {bit_literal(f.width, flag_mask(ports))}"
                if f.role == "flags" and flag_mask(ports) != ALL_FLAGS
                else ""
            )
            parts += [("%h", f", {code}") if has else ("-", "")]
    lines += [f'  $fwrite(results, "{" " if i else ""}{text}"{code});' for i, (text, code) in enumerate(parts)]
    return _indented([*lines, '  $fwrite(results, "\\n");', "endtask"], 2)


def _log_notes(bound: Bound, ports: PortMap) -> list[str]:
    """The comments that the log of results begins with: what a reader needs to compare them as this bench does."""
    has_flags = any(f.role == "flags" for f in bound.fields)
    tolerance = Tolerance.of_ports(ports)
    if not _logs_flags(bound, ports):
        tolerance = replace(tolerance, flags=0, sticky=False)
    return tolerance.notes(has_flags, len(bound.parts) > 1)


def _written(notes: Iterable[str]) -> Iterator[str]:
    """Statements that write comments to the log of results."""
    for note in notes:
        text = f"// {note}".encode("ascii", "replace").decode("ascii")
        yield f'$fwrite(results, "%0s\\n", {string_literal(text)});'


def _logs_flags(bound: Bound, ports: PortMap) -> bool:
    """Whether the outputs have flags, and those of each lane apart."""
    merged = ports.lanes > 1 and any(isinstance(p, DataPort) and p.merge for p in ports.outputs)
    return bool(bound.got.carriers("flags")) and not merged


def _waiting(ports: PortMap) -> str:
    """An expression for what an offered operation waits for."""
    shake = ports.handshake
    if shake.channels == 1 or shake.joint:
        return '"in_ready"'
    *names, last = [string_literal(f"in_ready of {' '.join(names)}") for names in shake.operands]
    return "(" + " : ".join([*(f"awaited[{i}] && !given[{i}] ? {name}" for i, name in enumerate(names)), last]) + ")"


def _may_vary(ports: PortMap) -> bool:
    """Whether the latency could be left out."""
    return ports.latency is not None and "in_valid" in ports.handshake and "out_valid" in ports.handshake


def _report(bound: Bound, ports: PortMap) -> str:
    """Statements that print a mismatch: the kind of vector, its inputs, and each output, expected and actual."""
    lines = []
    if len(bound.parts) > 1:
        lines += [f"case (word[WORD-1:{bound.key_lsb}])"]
        lines += [f"  {_key(bound, p.key)}: $write({string_literal(p.label + ' ')});" for p in bound.parts]
        lines += ['  default: $write("? ");', "endcase"]
    if ports.lanes > 1:
        lines += ['$write("lane %0d ", lane);']
    for f in bound.fields:
        if f.role in ("operand", "random"):
            for i in reversed(range(f.lanes)):
                label = f"{f.name}=" if i == f.lanes - 1 else "_"
                lines += [f'$write("{label}%h", word[{f.lane(i)}+:{f.width}]);']
            lines += ['$write(" ");']
    data = bound.got.carriers()
    wires = [w for w in bound.got.wires if data >> w.lsb & (1 << w.width) - 1]
    for title, bundle in (("expected", "want"), ("got", "got")):
        lines += [f'$write("{title}");']
        lines += [f'$write(" {w.port}=%h", {_shown(w, bundle)});' for w in wires]
        lines += ['$write(" ");'] if title == "expected" else []
    tag = ['$write(" with tag %h", last_tag);'] if ports.tag else []
    lines += [*tag, '$write(" in cycle %0d", cycle);'] if ports.clock else []
    lines += ['$display("");']
    return _indented(lines, 6)


def _shown(wire: Wire, bundle: str) -> str:
    """The bits of an output in a message, without signals of the handshake."""
    bits = f"{bundle}[{wire.lsb}+:{wire.width}]"
    return f"{bits} & {bit_literal(wire.width, (1 << wire.width) - 1 & ~wire.signal_bits)}" if wire.signals else bits


def _indented(lines: Iterable[str], by: int) -> str:
    return "\n".join(" " * by + line if line else line for line in lines)
