"""Running a program under the Pintool (`tracer/pin`): the command line and the environment.

A Pin kit cannot be had from a distribution: `POWERCUT_PIN_ROOT`, else `PIN_ROOT`, names the folder of one, and
`make pin` builds the tool with it.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from powercut.base import paths
from powercut.base.errors import UsageError

VARIABLES = ("POWERCUT_PIN_ROOT", "PIN_ROOT")
_TOOL = "powercut_pin.so"
#: Files that every kit for Linux has, and nothing else.
_PARTS = ("pin", "source/tools/Config/makefile.config", "source/include/pin/pin.H", "intel64")


def kit() -> Path | None:
    """The folder of the kit that the environment names; None when it names none."""
    named = next((value for variable in VARIABLES if (value := os.environ.get(variable))), None)
    return Path(named).absolute() if named else None


def missing() -> tuple[str, str] | None:
    """Why nothing can be run under Pin here, in one line, and what to do about it; None when all is there."""
    root = kit()
    if root is None:
        return (
            "no kit: PIN_ROOT is not set; its tracer is not built and was not run",
            "Unpack a Pin kit and run 'make pin PIN_ROOT=/path/to/it' if you want it; Valgrind records the same.",
        )
    if lacks := next((part for part in _PARTS if not (root / part).exists()), None):
        return f"PIN_ROOT={root} is not a Pin kit for Linux: it has no {lacks}", "Set PIN_ROOT to an unpacked kit."
    if not tool().is_file():
        return f"there is a kit in {root}, but {tool()} was not built", f"Run 'make pin PIN_ROOT={root}'."
    return None


def require() -> Path:
    """The folder of the kit. UsageError when nothing can be run under Pin."""
    if lacks := missing():
        what, next_step = lacks
        raise UsageError(f"not run under Intel Pin ({what})", where="--tracer pin", next_step=next_step)
    root = kit()
    assert root is not None
    return root


def tool() -> Path:
    """Where `make pin` puts the Pintool."""
    return paths.library_dir() / _TOOL


def command(
    argv: Sequence[str],
    *,
    stream: Path,
    pools: Sequence[Path],
    loads: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """`argv` under the Pintool: what to start, and its whole environment. UsageError without a kit or the tool.

    `stream` is written anew (`tracer/stream/STREAM.md`); `powercut-engine convert` makes a trace of it. `pools` are the
    files whose mappings count. The program's own exit status is that of the command.
    """
    arguments = [f"{require()}/pin", "-t", os.fspath(tool()), "-stream", os.fspath(stream.absolute())]
    for pool in pools:
        arguments += ["-pool", os.path.realpath(pool)]
    if loads:
        arguments += ["-loads", "1"]
    environment = dict(os.environ if env is None else env)
    # Lazy binding would put the dynamic linker into call stacks and into the first call of everything.
    environment["LD_BIND_NOW"] = "1"
    return [*arguments, "--", *argv], environment
