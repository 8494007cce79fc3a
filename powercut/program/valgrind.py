"""Running a program under the Valgrind tool (`tracer/valgrind`): the command line and the environment.

The tool is found by `VALGRIND_LIB`, which names a folder of our build with links to the distribution's files, or of the
package powercut-valgrind: the user's own Valgrind is not touched. `POWERCUT_VALGRIND` names another launcher.
"""

import importlib.util
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.engine import engine, events

_TOOL = "powercut-amd64-linux"
#: Set for the launcher by distributions' wrapper scripts; we start the launcher itself.
_LAUNCHERS = ("valgrind.bin", "valgrind")


def tool_folder() -> Path:
    """Folder of the tool, for `VALGRIND_LIB`. UsageError if it was not built."""
    folder = packaged() or paths.library_dir() / "valgrind"
    if (folder / _TOOL).is_file():
        return folder
    if paths.installed():
        raise UsageError(
            "the Valgrind tool is not installed", where="powercut-valgrind", next_step="pip install powercut-valgrind"
        )
    raise UsageError(
        "the Valgrind tool was not built",
        where=str(folder / _TOOL),
        next_step="Install the 'valgrind' package ('make setup' does), then run 'make build' again.",
    )


def packaged() -> Path | None:
    """Folder of the tool and its launcher in the package powercut-valgrind; None without it."""
    found = importlib.util.find_spec("powercut_valgrind")
    return Path(found.origin).parent / "native" / "lib" / "valgrind" if found and found.origin else None


def launcher() -> str:
    """The `valgrind` executable. UsageError if there is none."""
    chosen = os.environ.get("POWERCUT_VALGRIND")
    if not chosen and (folder := packaged()):
        return str(folder / _LAUNCHERS[0])
    candidates = (chosen,) if chosen else _LAUNCHERS
    for name in candidates:
        if found := shutil.which(name):
            return found
    raise UsageError(
        "valgrind is not installed",
        where=chosen or "valgrind",
        next_step="Install the 'valgrind' package ('make setup' does), or set POWERCUT_VALGRIND to its path.",
    )


def command(
    argv: Sequence[str],
    *,
    stream: Path,
    pools: Sequence[Path],
    device: Path | None = None,
    output: Path | None = None,
    loads: bool = False,
    stacks: bool = False,
    env: Mapping[str, str] | None = None,
) -> tuple[list[str], dict[str, str]]:
    """`argv` under the tool: what to start, and its whole environment.

    `stream` is written anew (`tracer/stream/STREAM.md`); `powercut-engine convert` makes a trace of it. `pools` are the
    files whose mappings count; without any, those that the program registers by client requests. `device` is a file
    that it writes by system calls; `output` is the folder of the files that it prints to, where their growth is wanted.
    With `loads` what the program reads is recorded as well, and no call stacks without `stacks`. The program's own exit
    status is that of the command.
    """
    arguments = [launcher(), "--tool=powercut", "-q", "--vgdb=no", f"--stream={stream.absolute()}"]
    # A program that replaces itself, such as `sh -c`, is followed; its children are not.
    arguments.append("--trace-children=yes")
    arguments += [f"--pool={_real(pool)}" for pool in pools]
    if device:
        arguments.append(f"--device={_real(device)}")
    if output:
        arguments.append(f"--output={output}")
    if loads:
        arguments.append("--loads=yes")
    if stacks:
        arguments.append("--stacks=yes")
    # Threads take turns fairly: a thread that spins must not starve the one that it waits for.
    arguments.append("--fair-sched=try")
    environment = dict(os.environ if env is None else env)
    environment["VALGRIND_LIB"] = str(tool_folder())
    # Lazy binding would put the dynamic linker into call stacks and into the first call of everything.
    environment["LD_BIND_NOW"] = "1"
    return [*arguments, *argv], environment


def telling_stores(argv: Sequence[str], *, stores: Path) -> tuple[list[str], dict[str, str]]:
    """`argv` under the tool, which tells stores to mapped files to the recorder of calls and records nothing itself.

    All processes are followed. Returns the whole command and its environment.
    """
    arguments = [launcher(), "--tool=powercut", "-q", "--vgdb=no", "--trace-children=yes", "--fair-sched=try"]
    return [*arguments, f"--stores={stores}", *argv], {**os.environ, "VALGRIND_LIB": str(tool_folder())}


def record_plan(
    engine_path: Path,
    plan: Path,
    trace: Path,
    *,
    more: Sequence[str] = (),
    interrupt: engine.Interrupt | None = None,
    under: Callable[..., tuple[list[str], dict[str, str]]] = command,
) -> dict[str, Any]:
    """Records a target's plan by the tool; the plain library runs. Returns the `recorded` event.

    `more`: options of the engine's command that drives the library.
    The stream and the metadata lie beside `trace` until it is complete.
    """
    stream, metadata = trace.with_suffix(".stream"), trace.with_suffix(".json")
    begin, environment = under([], stream=stream, pools=[])
    drive = ["drive", "--plan", str(plan), "--metadata", str(metadata), *more]
    marks: dict[str, int] = {}
    started = time.monotonic()
    try:
        for _, raw in engine.stream(engine_path, drive, interrupt=interrupt, under=(begin, environment)):
            if raw.get("event") == "driven":
                marks = raw["marks"]
        convert = ["convert", "--stream", str(stream), "--trace", str(trace), "--metadata", str(metadata)]
        convert += ["--driver", os.path.realpath(engine_path)]
        _, converted = engine.single(engine_path, convert, events.Converted)
    finally:
        stream.unlink(missing_ok=True)
        metadata.unlink(missing_ok=True)
    kept = ("events", "operations", "bytes", "counters", "counters_explored")
    return {
        "event": "recorded",
        "trace": str(trace),
        **{name: converted[name] for name in kept},
        "marks": marks,
        "marks_missing": [],
        "externals": [],  # everything that ran was seen
        "seconds": time.monotonic() - started,
    }


def _real(pool: Path) -> Path:
    """The pool's path without links, also when the file itself does not exist yet."""
    return Path(os.path.realpath(pool))
