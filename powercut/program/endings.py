"""How a set-up and a recorded command ended: what records say of it, and the errors for those that end badly."""

import os
import shlex
import signal
from pathlib import Path
from typing import Any

from powercut.base.errors import HarnessError, UsageError
from powercut.engine.engine import Interrupt
from powercut.engine.supervise import Ended, Output, StartError, status_text, supervised
from powercut.program.recording import Recording
from powercut.symbols import store_functions

#: Variables of the runtime: their values are meant for another recording.
_OURS = (
    "POWERCUT_TRACE",
    "POWERCUT_STREAM",
    "POWERCUT_SCHEDULE",
    "POWERCUT_POOL_FILES",
    "POWERCUT_DEVICE_FILE",
    "POWERCUT_OUTPUT",
    store_functions.VARIABLE,
    "POWERCUT_POOL_BASE",
    "POWERCUT_POOL_SIZE",
)
_UNKNOWN_INSTRUCTION = (
    "Valgrind may not know one of its instructions (AVX-512, for instance): build it without, or with 'powercut cc'."
)


class SetUpFailed(UsageError):
    """A set-up that ended with another status than 0."""


def environment() -> dict[str, str]:
    """The environment of recorded programs and recoveries: libpmem takes any file for persistent memory."""
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return {"PMEM_IS_PMEM_FORCE": "1", **kept}


def set_up(recording: Recording, *, scratch: Path, held: int, interrupt: Interrupt | None) -> None:
    """Makes the files of the program. SetUpFailed for a set-up that fails, UsageError when nothing was made."""
    place = f"--setup {shlex.join(recording.setup)}"
    try:
        with supervised(
            recording.setup,
            cwd=recording.cwd,
            environment=environment(),
            timeout=recording.limit,
            scratch=scratch,
            held=(held,),
            interrupt=interrupt,
        ) as ended:
            pass
    except StartError as error:
        raise not_started(error) from error
    refuse_slow("the set-up", recording, ended, place)
    if ended.status != 0:
        raise SetUpFailed(
            f"the set-up ended with {status_text(ended.status)}{said(ended.stdout, ended.stderr)}",
            where=place,
            next_step=f"Mend it. It begins {recording.bare}, and must end with status 0.",
        )
    if not any(pool.exists() for pool in recording.pools):
        raise UsageError(
            f"the set-up did not make {' or '.join(map(os.fspath, recording.pools))}",
            where=place,
            next_step="Let it make what the recorded command works on.",
        )


def described(recording: Recording, ended: Ended, *, name: str) -> dict[str, Any]:
    """The program as it stands in the trace's metadata and in the run record."""
    return {
        "name": name,
        **recording.described(),
        "exit": {"signal": -ended.status} if ended.status < 0 else {"status": ended.status},
        "seconds": ended.seconds,
        "output": {"stdout": ended.stdout.shown(), "stderr": ended.stderr.shown()},
    }


def where(recording: Recording) -> str:
    """The recorded command, as the place of an error."""
    return f"--record {shlex.join(recording.command)}"


def refuse_slow(name: str, recording: Recording, ended: Ended, place: str) -> None:
    """Raises an error for a command that did not end in time.

    HarnessError where the time was the budget's, UsageError where it was the limit of the command itself.
    """
    if ended.stopped != "timeout":
        return
    if recording.within is not None and recording.limit == recording.within:
        raise HarnessError(
            "the budget ended before the program was recorded, so nothing was judged",
            where=place,
            next_step="Give it a longer --budget, or the program less to do.",
        )
    printed = said(ended.stdout, ended.stderr)
    raise UsageError(
        f"{name} did not end within {recording.timeout:g} s, and was ended with all its processes{printed}",
        where=place,
        next_step="Let it end by itself, or give it more time with --record-timeout.",
    )


def refuse_failure(recording: Recording, ended: Ended) -> None:
    """Raises UsageError for a command, or a driver, that failed while it was recorded."""
    refuse_slow("the program", recording, ended, where(recording))
    if ended.status not in recording.allowed:
        printed = said(ended.stdout, ended.stderr)
        raise UsageError(
            f"the program ended with {status_text(ended.status)} while it was recorded{printed}",
            where=where(recording),
            next_step=recording.advice
            + (
                f"Mend it, or the command. If this status is no failure, say --allow-exit {ended.status}."
                if ended.status > 0
                else _UNKNOWN_INSTRUCTION
                if ended.status == -signal.SIGILL and recording.tracer != "llvm"
                else "Mend it first: what a program that crashes has stored says nothing about power cuts."
            ),
        )
    if recording.driver and ended.driver_status not in (0, None, -13):
        raise UsageError(
            f"the driver ended with {status_text(ended.driver_status)}{said(ended.driver_stderr)}",
            where=f"--ops {' '.join(recording.driver)}",
            next_step="Mend it, or run its command by hand.",
        )


def said(*outputs: Output) -> str:
    """The output of a command, as the rest of a message."""
    lines = [line for output in outputs for line in output.shown()]
    return f"; it printed: {' | '.join(lines)}" if lines else "; it printed nothing"


def not_started(error: StartError) -> UsageError:
    """The error for a command that could not be started."""
    return UsageError(
        f"cannot be started ({error.reason})",
        where=error.file,
        next_step="Correct the command, or run it by hand to see what is wrong.",
    )
