"""Logs of pmemcheck, the tool of the pmem fork of Valgrind: recording, importing and exporting them.

The engine reads and writes logs (`tracer/pmemcheck/README.md`). Distributions do not carry the fork, so whoever has
it names its `valgrind` in `POWERCUT_PMEMCHECK`; the powercut Valgrind tool records the same without it.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.engine import engine, events
from powercut.engine.engine import Interrupt
from powercut.engine.supervise import Ended, StartError, supervised
from powercut.program import other_files
from powercut.program import pools as program_pools
from powercut.symbols.symbolize import Frame, Symbolizer

VARIABLE = "POWERCUT_PMEMCHECK"
NOT_INSTALLED = (
    "pmemcheck is not installed (it is part of the pmem fork of Valgrind); "
    "the powercut Valgrind tool does the same job: --tracer valgrind"
)
_ANSWER_SECONDS = 20


def answers(valgrind: str) -> bool:
    """True when this `valgrind` has a pmemcheck that logs stores."""
    try:
        done = subprocess.run(
            [valgrind, "--tool=pmemcheck", "--help"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_ANSWER_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and "--log-stores" in done.stdout + done.stderr


def find() -> str | None:
    """The `valgrind` whose pmemcheck answers: that of `POWERCUT_PMEMCHECK`, else that of PATH; None without one."""
    named = os.environ.get(VARIABLE) or shutil.which("valgrind")
    return named if named and answers(named) else None


def require() -> str:
    """Returns this tracer's program, or raises a UsageError in one line."""
    found = find()
    if found:
        return found
    if named := os.environ.get(VARIABLE):
        raise UsageError(
            "this valgrind has no pmemcheck",
            where=f"{VARIABLE}={named}",
            next_step="Name the valgrind of the pmem fork, or use the powercut Valgrind tool: --tracer valgrind.",
        )
    raise UsageError(NOT_INSTALLED, where="--tracer pmemcheck", next_step=f"Or name the fork's valgrind in {VARIABLE}.")


def command(valgrind: str, log: Path, argv: Sequence[str]) -> list[str]:
    """`argv` under pmemcheck, with its stores logged to `log`."""
    return [
        valgrind,
        "--tool=pmemcheck",
        "-q",
        "--log-stores=yes",
        "--log-stores-stacktraces=yes",
        "--print-summary=no",
        # Without it, pmemcheck adds a fence to every clflush. Such a fence would hide missing fences where libpmem
        # takes clflush for want of clwb (a processor that Valgrind pretends to be).
        "--expect-fence-after-clflush=yes",
        f"--log-file={os.fspath(log).replace('%', '%%')}",
        *argv,
    ]


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A program that ran under pmemcheck, and its trace."""

    trace: events.Imported
    ended: Ended


def record(
    argv: Sequence[str],
    pools: Sequence[Path],
    trace: Path,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    saved: Path | None = None,
    program: Mapping[str, Any] | None = None,
    interrupt: Interrupt | None = None,
) -> Recorded:
    """Runs `argv` under pmemcheck and makes its log a trace.

    `pools`: files whose bytes from before the run belong to the trace, as their links resolve. `saved`: as in
    `other_files.watched`. `program`: more of it for the trace's metadata. Raises UsageError when pmemcheck is not there
    or this is no log, and Interrupted; how the program ended is for the caller to judge.
    """
    valgrind = require()
    # Beside the trace: a pool may be larger than /tmp.
    scratch = Path(tempfile.mkdtemp(prefix=".powercut-", dir=trace.absolute().parent))
    log = scratch / "log"
    snapshots: dict[str, Path] = {}
    try:
        for number, pool in enumerate(pools):
            if pool.exists():
                snapshots[os.fspath(pool)] = scratch / f"pool{number}"
                program_pools.copy(pool, snapshots[os.fspath(pool)])
        words = command(valgrind, log, argv)
        with supervised(
            other_files.watched(words, pools=pools, scratch=scratch, saved=saved),
            cwd=cwd or Path.cwd(),
            environment=os.environ if environment is None else environment,
            timeout=timeout,
            scratch=scratch,
            interrupt=interrupt,
        ) as ended:
            if not log.exists():
                raise UsageError(
                    f"pmemcheck wrote no log ({ended.how()})",
                    where=argv[0],
                    next_step=" ".join(["It said:", *ended.stderr.shown()])
                    if ended.stderr.shown()
                    else "Run it by hand.",
                )
            beside = other_files.found(words, scratch=scratch)
            how = {"signal": -ended.status} if ended.status < 0 else {"status": ended.status}
            described = {"command": list(argv), "exit": how, **beside.described(), **(program or {})}
            return Recorded(trace=import_log(log, trace, snapshots=snapshots, program=described), ended=ended)
    except StartError as error:
        raise UsageError(
            f"it cannot be started ({error.reason})", where=error.file, next_step="Name a program that runs."
        ) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def import_log(
    log: Path, trace: Path, *, snapshots: Mapping[str, Path], program: Mapping[str, Any] | None = None
) -> events.Imported:
    """Makes a log a trace. `snapshots`: for paths of the log, copies of these files from before the run."""
    arguments = ["import-pmemcheck", "--log", os.fspath(log), "--trace", os.fspath(trace)]
    for path, copy in snapshots.items():
        arguments += ["--pool", f"{path}={copy}"]
    if program:
        arguments += ["--program", json.dumps(program)]
    answer, _ = engine.single(paths.engine(), arguments, events.Imported)
    assert isinstance(answer, events.Imported)
    return answer


def export_log(trace: Path, log: Path, *, stacks: bool, pools: Path | None) -> events.Exported:
    """Makes a trace a log. `pools`: a folder for the pools as they were before the run, which the log then names."""
    arguments = ["export-pmemcheck", "--trace", os.fspath(trace), "--log", os.fspath(log)]
    if pools:
        arguments += ["--pools", os.fspath(pools)]
    with tempfile.TemporaryDirectory(prefix="powercut-") as folder:
        if stacks:
            symbols = Path(folder) / "symbols.json"
            symbols.write_text(json.dumps(_symbols(trace)), encoding="utf-8")
            arguments += ["--symbols", os.fspath(symbols)]
        else:
            arguments.append("--no-stacks")
        answer, _ = engine.single(paths.engine(), arguments, events.Exported)
    assert isinstance(answer, events.Exported)
    return answer


def _symbols(trace: Path) -> list[tuple[int, int, list[str]]]:
    """Returns the known frames of a trace's stores: module, offset, and texts as Valgrind writes them."""
    answer, _ = engine.single(
        paths.engine(), ["export-pmemcheck", "--trace", os.fspath(trace), "--frames"], events.StoreFrames
    )
    assert isinstance(answer, events.StoreFrames)
    known = []
    with Symbolizer() as symbolizer:
        for module, offset in answer.frames:
            if answer.modules[module].path.startswith(events.LOG_MODULE):
                continue  # the engine writes these as the log had them
            frames = symbolizer.stack(answer.modules, [(module, offset)])
            if any(frame.site for frame in frames):
                known.append((module, offset, [_text(frame) for frame in frames]))
    return known


def _text(frame: Frame) -> str:
    return f"{frame.function} ({frame.site or 'in ' + frame.module})"
