"""The application: its commands, in the order in which people meet them, its version, and how it
fails.
"""

import errno
import functools
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ..checks import cut
from ..progress import count_from_start
from .additions import place, suggest
from .embed import embed
from .errors import reason
from .options import HelpAll, with_help_all
from .output import show_log
from .queries import cluster, evaluate, neighbors, rank
from .reproduce import reproduce
from .select import select
from .showing import export, plot, report
from .sources import datasets

_COMMANDS: tuple[Callable[..., None], ...] = (
    embed,
    select,
    rank,
    neighbors,
    suggest,
    cluster,
    place,
    evaluate,
    report,
    plot,
    export,
    datasets,
    reproduce,
)
_LONGEST = 1_000  # characters of a word of an error
# What each says of itself, and its examples.
_PARTS = [(inspect.getdoc(command) or "").split("\nExamples:\n") for command in _COMMANDS]
_EXAMPLES = "\n".join(examples.partition("\n")[0] for _, examples in _PARTS)
_EPILOG = f"""\
\b
Examples:
{_EXAMPLES}

\b
Exit codes: 0 done, 1 the training failed or a pipe was closed,
2 bad input (one line on stderr says what), 130 Ctrl-C, 143 SIGTERM."""


def _one_line(message: str) -> str:
    """A message without line breaks, and without the middle of words beyond any path."""
    return " ".join(word if len(word) <= _LONGEST else cut(word) for word in message.split())


class _OneLineErrors(TyperGroup):
    """A group of commands that says what was wrong in one line; bugs keep their traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        *rest: Any,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command and leave with its exit code; not ``standalone_mode`` leaves errors to the
        caller.
        """
        # What was asked for, word by word: an embedding remembers it.
        extra.setdefault("obj", ("ultrahyperbolic", *(sys.argv[1:] if args is None else args)))
        extra["standalone_mode"] = False
        run = functools.partial(super().main, args, *rest, **extra)
        if not standalone_mode:
            return run()
        try:
            result = run()
            sys.stdout.flush()
        except typer.TyperException as error:
            text = _one_line(error.format_message()).replace("Value error, ", "")
            text = text.replace("Input should be", "it must be")
            context = getattr(error, "ctx", None)  # of errors in how the command was called
            more = "" if context is None else f" (see {context.command_path} --help)"
            print(f"error: {text.rstrip('.') if more else text}{more}", file=sys.stderr)
            sys.exit(error.exit_code)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                print(f"error: {_one_line(reason(error))}", file=sys.stderr)
                sys.exit(2)
            if error.filename is not None:
                raise
            # What is still in the buffer must not be tried again at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError):  # whoever read our output has gone
                sys.exit(1)
            print(f"error: cannot write the output: {error.strerror or error}", file=sys.stderr)
            sys.exit(2)
        sys.exit(result if isinstance(result, int) else 0)


class PlainHelp(TyperCommand):
    """A command whose help has its options in groups, and cuts no name of one on a narrow
    terminal.
    """

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group: the unnamed groups first."""
        groups: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for each in self.get_params(ctx):
            if (row := each.get_help_record(ctx)) is not None:
                usual = "Arguments" if each.param_type_name == "argument" else "Options"
                groups.setdefault(getattr(each, "rich_help_panel", None) or usual, []).append(row)
        for name, rows in groups.items():
            if rows:
                with formatter.section(name):
                    formatter.write_dl(rows)


app = typer.Typer(
    cls=_OneLineErrors,
    epilog=_EPILOG,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from ..version import __version__

        print(f"ultrahyperbolic {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def ultrahyperbolic(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_print_version, is_eager=True
        ),
    ] = False,
    help_all: HelpAll = False,  # which has been shown by now
) -> None:
    """Find the central nodes of a weighted network, and map it.

    A weight is the strength of a tie: the larger, the closer. If yours are
    distances or costs, pass --weights-are-distances (docs/graphs.md).
    """
    show_log()
    if context.invoked_subcommand is None:
        print(context.get_help())


for command, (text, examples) in zip(_COMMANDS, _PARTS, strict=True):
    app.command(cls=PlainHelp, help=text.rstrip(), epilog=f"\b\nExamples:\n{examples}")(
        with_help_all(command)
    )


def run() -> None:
    """Do what the command line says, and leave with an exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal's encoding lacks is no reason to fail.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    count_from_start()
    app(prog_name="ultrahyperbolic")
