"""`softfloat-ref`: finds the command, and turns every error into one line and an exit code."""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from typing import Final

import click

from softfloat_ref import __version__
from softfloat_ref.app.signals import Stopped, end_of_signals, on_signals
from softfloat_ref.base.errors import Error, one_line, unknown

MAX_MESSAGE: Final = 600
_NEW_OBJECTS: Final = 1 << 16  # between garbage collections: imports make many objects, which stay

# name: (module, help text). A command's module is imported when it runs, so --help stays fast.
COMMANDS: Final = {
    "formats": ("formats", "List the number formats, show one, or list its codes."),
    "explain": ("explain", "Explain a conversion or an operation, step by step."),
    "quantize": ("quantize", "Quantize values or arrays to a scalar or block format."),
    "decode": ("decode", "Decode codes to their exact values."),
    "approximate": ("approximate", "Find the smallest table that approximates a function within a bound."),
    "eval": ("evaluate", "Evaluate an operation on codes: result and flags."),
    "dot": ("dot", "Compute dot products as matrix units do; traces, probes, captures."),
    "vectors": ("vectors", "Generate, verify and list golden vectors."),
    "coverage": ("coverage", "Measure the coverage of vectors and simulations, bin by bin."),
    "check": ("check", "Check a device against the oracle, and explain what it gets wrong."),
    "verify": ("verify", "Verify a module: draft its port map, simulate vectors, diagnose, prove."),
    "prove": ("prove", "Prove that a circuit gives the exact answer to every input."),
    "identify": ("identify", "Identify the policy, block profile, accumulator or affine rule of a device."),
    "p3109": ("p3109", "List IEEE P3109's operations, query formats, declare conformance."),
    "export": ("export", "Write a unit as SystemVerilog, C, SMT-LIB 2 or BTOR2."),
    "dpi": ("dpi", "Write the C file and the package through which SystemVerilog queries the oracle."),
    "train": ("train", "Train small networks with every tensor in the format under study."),
    "plot": ("plot", "Plot exponents, errors, number lines, blocks and training curves."),
    "report": ("report", "Report what formats do to every tensor of a model: SQNR, errors, counts."),
    "unpack": ("unpack", "List the tensors of a quantized model, or write their values, or codes and scales."),
    "selftest": ("selftest", "Check this installation against exact rationals."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"softfloat_ref.app.{COMMANDS[cmd_name][0]}")
        if "pyslang" not in sys.modules and not gc.get_freeze_count():  # which complains of its own that are left
            gc.freeze()  # what was imported stays: no collection, the one at the end included, looks through it again
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Like click's method, with the closest names in the error."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            raise unknown("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The table of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="softfloat-ref")
def cli() -> None:
    """What must my circuit output? Exact answers, golden vectors, and a diagnosis.

    Exit codes: 0 success, 1 a mismatch was found, 2 bad usage or bad input, 3
    undecided (verify, prove).
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line; never returns."""
    gc.set_threshold(_NEW_OBJECTS)
    try:
        on_signals()
        result = _run(sys.argv[1:] if args is None else list(args))
        if sys.stdout is not None:
            sys.stdout.flush()
        code = result if isinstance(result, int) else 0
    except Error as e:
        code = _fail(str(e))
    except click.exceptions.NoArgsIsHelpError as e:
        print(e.ctx.get_help() if e.ctx else e.format_message(), file=sys.stderr)
        code = 2
    except click.ClickException as e:
        code = _fail(e.format_message())
    except click.exceptions.Exit as e:
        code = e.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except (Stopped, RuntimeError) as e:
        stopped = e.__cause__ if isinstance(e, RuntimeError) else e  # Python 3.11 wraps it when it creates a class
        if not isinstance(stopped, Stopped):
            raise
        code = 128 + int(stopped.args[0])
        end_of_signals(stopped=True)
    except BrokenPipeError:
        code = 141
    except MemoryError:
        code = _fail("not enough memory for this input; split it")
    except OSError as e:
        code = _fail(f"input or output failed: {e.strerror or e}")
    _end(code)


def _run(args: list[str]) -> object:
    """Like click's own main, which would turn a closed pipe into exit code 1."""
    if "_SOFTFLOAT_REF_COMPLETE" in os.environ:
        return cli.main(args, prog_name="softfloat-ref")
    with cli.make_context("softfloat-ref", args) as context:
        return cli.invoke(context)


def _end(code: int) -> None:
    """Exit, with output that cannot be delivered dropped: Python would complain about it once more."""
    end_of_signals()
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        code = code or 2
    sys.exit(code)


def _fail(message: str) -> int:
    """Print an error as one line, hidden characters escaped, which a name or a file may contain."""
    line = one_line(message)
    excerpt = line if len(line) <= MAX_MESSAGE else line[: MAX_MESSAGE - 3] + "..."
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print("softfloat-ref:", excerpt.encode("ascii", "backslashreplace").decode(), file=sys.stderr)
    return 2
