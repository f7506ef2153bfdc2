"""`softfloat-ref`: finds the command, and turns every error into one line and an exit code."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Final

import click

from softfloat_ref import __version__
from softfloat_ref.errors import Error, unknown

# name: (module, what --help says). A command's module is imported when it runs, so --help stays fast.
COMMANDS: Final = {
    "formats": ("formats", "List the number formats, show one, or table its codes."),
    "explain": ("explain", "Explain a conversion or an operation, step by step."),
    "quantize": ("quantize", "Quantize values or arrays to a scalar or block format."),
    "decode": ("decode", "Decode codes to their exact values."),
    "eval": ("evaluate", "Evaluate an operation on codes: result and flags."),
    "vectors": ("vectors", "Generate, verify and list golden vectors."),
    "check": ("check", "Check a device against the oracle, and explain what it gets wrong."),
    "bench": ("bench", "Measure throughput on this machine."),
    "selftest": ("selftest", "Check this installation against MPFR."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the table's order."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"softfloat_ref.app.{COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, with the closest names in the error."""
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

    Exit codes: 0 done or agree, 1 a mismatch was found, 2 bad usage or bad input.
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line; never returns."""
    try:
        result = cli.main(args, prog_name="softfloat-ref", standalone_mode=False)
        sys.stdout.flush()
        code = result if isinstance(result, int) else 0
    except Error as e:
        code = _fail(str(e))
    except click.ClickException as e:
        code = _fail(e.format_message())
    except (KeyboardInterrupt, click.Abort):
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains once more at exit
        code = 141
    except MemoryError:
        code = _fail("not enough memory for this input; split it")
    sys.exit(code)


def _fail(message: str) -> int:
    print("softfloat-ref:", " ".join(message.split("\n")), file=sys.stderr)
    return 2
