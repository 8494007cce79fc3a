"""Runs one foreign command, and leaves nothing of it behind: a program of its own, with the standard library only.

`powercut.engine.supervise` starts it and keeps its standard input open. The first line there is the request, a JSON
object; the answer is one JSON line on standard output. After that it waits for another line. An input that ends
without one means that its parent was killed: then it removes the request's scratch folder.

All descendants of the command are found, whatever sessions and groups they have put themselves into: this process
is their subreaper, so the ones whose parent has gone become its own children.

Known inaccuracies: a process that changed its user cannot be ended, and nobody looks after the command when this
process itself is killed.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import time

# The program itself does not load these modules, which took a third of its start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Any

_PR_SET_CHILD_SUBREAPER = 36
_ADDR_NO_RANDOMIZE = 0x0040000
#: Bytes that are kept of each stream's output, at its beginning and at its end.
_KEPT = 32 * 1024
_READ = 1 << 20
#: Seconds from asking a command to stop until it is killed.
_GRACE = 1.5
#: Seconds in which the processes of a command that has ended may end as well.
_SETTLE = 0.25
#: Seconds until a process that does not even die of SIGKILL (it sleeps in the kernel) is given up.
_DYING = 2.0


class Capture:
    """The head and the tail of a stream's output, however long it was."""

    def __init__(self) -> None:
        self.head = bytearray()
        self.tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Takes the next bytes."""
        self.total += len(data)
        room = _KEPT - len(self.head)
        self.head += data[:room]
        self.tail = (self.tail + data[room:][-_KEPT:])[-_KEPT:]

    def read(self, path: str) -> None:
        """Takes the whole of a file."""
        with open(path, "rb") as file:
            while data := file.read(_READ):
                self.add(data)

    def answer(self) -> dict[str, Any]:
        """As it stands in the answer."""
        return {
            "head": self.head.decode("utf-8", "replace"),
            "tail": self.tail.decode("utf-8", "replace"),
            "dropped": self.total - len(self.head) - len(self.tail),
        }


def descendants() -> list[int]:
    """Everything that descends from this process and has not ended."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []  # a process without a child has no descendants, and reading all of /proc takes 5 ms
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
            # The name before it, in parentheses, may hold anything.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                parents[int(name)] = int(parent)
    found = {os.getpid()}
    while fresh := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= fresh
    return sorted(found - {os.getpid()})


def command_line(pid: int) -> str:
    """Returns the command line of a process, for people."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read(512).split(b"\0")
    except OSError:
        return ""
    return " ".join(word.decode("utf-8", "replace") for word in words if word)


def signal_all(number: int) -> None:
    """Sends a signal to every descendant."""
    for pid in descendants():
        with contextlib.suppress(OSError):
            os.kill(pid, number)


class Job:
    """The command, the driver that may feed it, and the state of both."""

    def __init__(self, request: dict[str, Any]) -> None:
        self._request = request
        self._selector = selectors.DefaultSelector()
        self._captures: dict[str, Capture] = {}
        self._open_streams = 0
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._statuses: dict[str, int] = {}
        self._stopped: str | None = None
        self._kill_at: float | None = None

    def watch(self, file: int, action: Callable[[], None]) -> None:
        """Calls `action` when `file` can be read."""
        self._selector.register(file, selectors.EVENT_READ, action)

    def unwatch(self, file: int) -> None:
        """Ends `watch`."""
        self._selector.unregister(file)

    def run(self) -> dict[str, Any]:
        """Runs the command to its end, or until it must be stopped, and returns the answer."""
        begun = time.monotonic()
        limit = self._request["timeout"]
        try:
            self._start()
        except OSError as error:
            self._bury()
            return {"failed": {"reason": error.strerror, "file": os.fsdecode(error.filename or "")}}
        self._wait(None if limit is None else begun + limit)
        seconds = time.monotonic() - begun
        left = self._left_behind()
        self._bury()
        deadline = time.monotonic() + _DYING
        while (self._open_streams or self._running) and time.monotonic() < deadline:
            self._turn(deadline)
        for name, path in zip(("command.stdout", "command.stderr"), self._request["output"] or (), strict=False):
            self._captures[name] = Capture()
            self._captures[name].read(path)
        return {
            "statuses": self._statuses,
            "stopped": self._stopped,
            "seconds": seconds,
            "output": {name: capture.answer() for name, capture in self._captures.items()},
            "left": left,
        }

    def stop(self, why: str) -> None:
        """Asks everything to stop; who does not is killed after the grace."""
        if self._stopped is None:
            self._stopped = why
            self._kill_at = time.monotonic() + _GRACE
            signal_all(signal.SIGTERM)

    def kill(self) -> None:
        """Ends all processes at once: nobody waits for their further work."""
        self._kill_at = time.monotonic()

    def _start(self) -> None:
        feed: IO[bytes] | int = subprocess.DEVNULL
        if driver := self._request["driver"]:
            feeding = self._spawn("driver", driver, stdin=subprocess.DEVNULL)
            assert feeding.stdout is not None
            feed = feeding.stdout
        if files := self._request["output"]:
            # Opened to append: each write goes behind earlier ones, as in a pipe.
            with open(files[0], "ab") as out, open(files[1], "ab") as err:
                self._spawn("command", self._request["command"], stdin=feed, stdout=out, stderr=err)
        else:
            process = self._spawn("command", self._request["command"], stdin=feed)
            assert process.stdout is not None
            self._capture("command.stdout", process.stdout)
        if not isinstance(feed, int):
            feed.close()

    def _spawn(
        self,
        name: str,
        argv: list[str],
        *,
        stdin: IO[bytes] | int,
        stdout: IO[bytes] | int = subprocess.PIPE,
        stderr: IO[bytes] | int = subprocess.PIPE,
    ) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=self._request["cwd"],
            env=self._request["environment"],
            start_new_session=True,
        )
        if process.stderr is not None:
            self._capture(f"{name}.stderr", process.stderr)
        self._running[name] = process
        ending = os.pidfd_open(process.pid)

        def ended() -> None:
            self.unwatch(ending)
            os.close(ending)
            self._statuses[name] = process.wait()
            del self._running[name]

        self.watch(ending, ended)
        return process

    def _capture(self, name: str, stream: IO[bytes]) -> None:
        capture = self._captures[name] = Capture()
        self._open_streams += 1

        def read() -> None:
            if data := os.read(stream.fileno(), _READ):
                capture.add(data)
                return
            self.unwatch(stream.fileno())
            stream.close()
            self._open_streams -= 1

        self.watch(stream.fileno(), read)

    def _turn(self, until: float | None) -> None:
        """Handles what has happened, or waits for it until `until`."""
        wait = None if until is None else max(0.0, until - time.monotonic())
        for key, _ in self._selector.select(wait):
            key.data()

    def _wait(self, deadline: float | None) -> None:
        while "command" not in self._statuses:
            now = time.monotonic()
            if self._kill_at is not None and now >= self._kill_at:
                signal_all(signal.SIGKILL)
                self._kill_at = now + 0.1  # for what was forked since
            elif self._stopped is None and deadline is not None and now >= deadline:
                self.stop("timeout")
            self._turn(self._kill_at or deadline)

    def _left_behind(self) -> list[str]:
        """The command lines of processes that outlive the command; the driver is not one of them."""
        deadline = time.monotonic() + _SETTLE
        while (rest := descendants()) and time.monotonic() < deadline:
            self._turn(time.monotonic() + 0.02)
        feeding = {process.pid for process in self._running.values()}
        return [command_line(pid) for pid in rest if pid not in feeding]

    def _bury(self) -> None:
        """Kills every descendant, and those forked while it kills, and waits for them."""
        deadline = time.monotonic() + _DYING
        while time.monotonic() < deadline:
            signal_all(signal.SIGKILL)
            self._reap_orphans()
            if not descendants():
                return
            self._turn(time.monotonic() + 0.01)

    def _reap_orphans(self) -> None:
        """Takes leave of processes that this one has inherited; its own are `subprocess`'s to wait for."""
        own = {process.pid for process in self._running.values()}
        with contextlib.suppress(ChildProcessError):
            while ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                if ended.si_pid in own:
                    return
                os.waitpid(ended.si_pid, 0)


def _prepare() -> None:
    """Sets what the command inherits: a subreaper, no core files, the same addresses in every run, and no ignored
    signal. A shell ignores SIGINT and SIGQUIT for `powercut … &`, `nohup` ignores SIGHUP: the command would as well.
    """
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        # A handler, which an exec resets: this process goes on, the command has the default.
        signal.signal(number, lambda *_: None)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    libc.personality(libc.personality(0xFFFFFFFF) | _ADDR_NO_RANDOMIZE)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> None:
    _prepare()
    requests = sys.stdin.buffer
    line = requests.readline()
    if not line.endswith(b"\n"):
        return  # powercut was killed before it could ask
    request = json.loads(line)
    job = Job(request)
    wake, waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGTERM, lambda *_: None)

    def abandoned() -> None:
        job.unwatch(requests.fileno())
        job.stop("abandoned")
        job.kill()

    def asked() -> None:
        os.read(wake, 64)
        job.stop("interrupted")

    job.watch(requests.fileno(), abandoned)
    job.watch(wake, asked)
    answer = job.run()
    with contextlib.suppress(OSError):
        os.write(1, json.dumps(answer).encode() + b"\n")
    if not requests.readline() and (scratch := request["scratch"]):
        import shutil

        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
