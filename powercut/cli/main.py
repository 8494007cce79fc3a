"""The command line: the verbs put together, and the border at which every failure becomes one paragraph.

With `--json` it is an object on stdout as well, whose one key is `error`. No failure leaves a traceback behind except a
defect of powercut itself, which says so. Exit codes are `powercut.base.exit_codes.ExitCode`.
"""

import gc
import io
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from powercut import __version__
from powercut.base import resources
from powercut.base.errors import PowercutError
from powercut.base.exit_codes import ExitCode
from powercut.cli import streams, talk
from powercut.cli.commands import compile
from powercut.cli.verbs import Verbs
from powercut.engine import orphans


class _Border(Verbs):
    """Turns what a verb raises into a message and an exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            talk.say("powercut: interrupted. The command was not carried out to its end.")
            raise typer.Exit(ExitCode.INCOMPLETE) from None


app = typer.Typer(
    cls=_Border,
    name="powercut",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"], "max_content_width": 100},
)


def _show_any_path() -> None:
    """The name of a file need not be UTF-8 text. Messages then show its bytes, and never fail for them."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"powercut {__version__}")
        raise typer.Exit


@app.callback()
def powercut(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Find every moment at which a power cut loses or corrupts data.

    powercut records the stores, flushes and fences of a program that keeps data in persistent memory.
    It works out every image that a power cut may leave behind, and runs the program's own recovery on each.
    Then it checks what survived against what had been acknowledged.
    """


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command line and returns its exit code. Without `argv` it is that of this process."""
    if argv is not None:
        return _main(list(argv))
    compiling = sys.argv[1:2] and sys.argv[1] in compile.NAMES
    if not compiling and (refused := streams.refusal()):
        streams.tell(refused)
        return ExitCode.USAGE
    _show_any_path()
    stdout = streams.watched()
    # Records are trees of some hundred thousand parts: the search for cycles took two fifths of a run with findings.
    gc.set_threshold(100_000, 50, 1000)
    with orphans.ended():
        code = _main(sys.argv[1:])
    if stdout.failure:
        talk.say(
            f"powercut: standard output took no more ({stdout.failure.strerror}), so what was printed is not whole. "
            "Make room for it, and run the command again; 'powercut report' shows the runs that were judged."
        )
        return ExitCode.USAGE
    return code


def _main(arguments: list[str]) -> int:
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        talk.say("powercut: interrupted.")
        return ExitCode.INCOMPLETE
    except PowercutError as error:
        talk.say_error(error)
        if "--json" in arguments:
            # Loaded here: `--help` needs none of its modules.
            from powercut.cli import output

            output.print_json({"error": error.described()})
        return error.exit_code
    except (UnicodeEncodeError, UnicodeDecodeError) as error:
        talk.say(
            f"powercut: a path or a name here is not UTF-8 text ({error.reason}). Rename it, or work in another folder."
        )
        return ExitCode.USAGE
    except Exception as error:
        if (exhausted := resources.error_of(error)) is None:
            return _defect()
        talk.say_error(exhausted)
        return exhausted.exit_code


def _defect() -> int:
    traceback.print_exc()
    talk.say("powercut: this is a defect of powercut itself, not of the code under test. Please report it.")
    return ExitCode.INCOMPLETE


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in compile.NAMES and arguments[1:] != ["--help"]:
        return compile.forward(arguments[0], arguments[1:])
    try:
        app(args=arguments, prog_name="powercut")
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else ExitCode.CLEAN
    return ExitCode.CLEAN
