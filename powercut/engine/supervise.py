"""Running foreign commands: output kept within bounds, limits kept, and nothing left behind (`supervisor.py`)."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from powercut.base.errors import HarnessError
from powercut.engine import supervisor
from powercut.engine.engine import Interrupt, Interrupted

#: Files of the folder that a command's output goes to, where it is wanted whole: its standard output and error.
OUTPUTS = ("stdout", "stderr")
#: Starts a script as a module: Python keeps the code of modules, and compiles a script at each start.
_AS_MODULE = (
    "import os, sys; folder, name = os.path.split(sys.argv[1]); sys.path.append(folder); "
    "__import__(name.removesuffix('.py')).main()"
)
_SHOWN_LINES = 8
_SHOWN_WIDTH = 160


@dataclass(frozen=True, kw_only=True)
class Output:
    """The first and the last 32 KiB of a stream, and how many bytes between them were dropped."""

    head: str = ""
    tail: str = ""
    dropped: int = 0

    def lines(self) -> list[str]:
        """Returns the kept output by lines; one line says what is missing."""
        if not self.dropped:
            return (self.head + self.tail).splitlines()
        return [*self.head.splitlines(), f"[{self.dropped:,} bytes left out]", *self.tail.splitlines()]

    def shown(self) -> list[str]:
        """For a message: a few lines of the beginning and of the end, each of bearable length."""
        lines = [line for line in self.lines() if line.strip()]
        if len(lines) > _SHOWN_LINES:
            half = _SHOWN_LINES // 2
            lines = [*lines[:half], "[…]", *lines[-half:]]
        return [line if len(line) <= _SHOWN_WIDTH else line[: _SHOWN_WIDTH - 1] + "…" for line in lines]


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended. A negative status is a signal, as in `subprocess`."""

    status: int
    #: None when it ended by itself.
    stopped: str | None
    seconds: float
    stdout: Output
    stderr: Output
    #: Command lines of processes that it left behind; they were ended.
    left: tuple[str, ...]
    #: Exit status of the driver: None without one, and when it had to be ended because the command had ended.
    driver_status: int | None
    driver_stderr: Output

    def how(self) -> str:
        """ "exit status 3", "signal SIGSEGV" """
        return status_text(self.status)


class StartError(Exception):
    """A command, or its driver, could not be started."""

    def __init__(self, reason: str, file: str) -> None:
        self.reason = reason
        self.file = file
        super().__init__(f"{file}: {reason}")


def status_text(status: int) -> str:
    """ "exit status 3", "signal SIGSEGV" """
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"


def companion(script: str, *, held: Sequence[int] = ()) -> "subprocess.Popen[str]":
    """Starts a script of powercut in a process group of its own, which a signal to this process does not end.

    The script is asked over its standard input, and answers over its standard output. `held` stays open in it.
    """
    return subprocess.Popen(
        [sys.executable, "-ISs", "-c", _AS_MODULE, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        process_group=0,
        pass_fds=held,
    )


@contextmanager
def supervised(
    command: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    timeout: float | None,
    driver: Sequence[str] = (),
    scratch: Path | None = None,
    output: Path | None = None,
    held: Sequence[int] = (),
    interrupt: Interrupt | None = None,
) -> Iterator[Ended]:
    """Runs `command` to its end. `scratch` is removed when this process is killed before the body has ended.

    `held`: descriptors that stay open until the command and all that it has started have ended, also then.
    With `output`, a folder, what the command prints goes to two files there (`OUTPUTS`) instead of pipes.
    The standard output of `driver` is the standard input of `command`, which is empty otherwise. Raises
    StartError, and Interrupted when `interrupt` was requested before its end.
    """
    process = companion(supervisor.__file__, held=held)
    assert process.stdin is not None
    assert process.stdout is not None
    request = {
        "command": list(command),
        "driver": list(driver),
        "cwd": os.fspath(cwd),
        "environment": dict(environment),
        "timeout": timeout,
        "scratch": os.fspath(scratch) if scratch else None,
        "output": [os.fspath(output / name) for name in OUTPUTS] if output else None,
    }
    try:
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        if interrupt:
            interrupt.add(process)
        try:
            line = process.stdout.readline()
        finally:
            if interrupt:
                interrupt.discard(process)
        if interrupt and interrupt.requested:
            raise Interrupted
        yield _ended(line, command)
    finally:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write("done\n")
            process.stdin.flush()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.stdout.close()
        process.wait()


def _ended(line: str, command: Sequence[str]) -> Ended:
    if not line:
        raise HarnessError(
            "the process that looks after the command was killed",
            where=command[0],
            next_step="Run it again; what the command itself has started may still be running.",
        )
    answer = json.loads(line)
    if failed := answer.get("failed"):
        raise StartError(failed["reason"], failed["file"])
    output = {name: Output(**stream) for name, stream in answer["output"].items()}
    return Ended(
        status=answer["statuses"]["command"],
        stopped=answer["stopped"],
        seconds=answer["seconds"],
        stdout=output["command.stdout"],
        stderr=output["command.stderr"],
        left=tuple(answer["left"]),
        driver_status=answer["statuses"].get("driver"),
        driver_stderr=output.get("driver.stderr", Output()),
    )
