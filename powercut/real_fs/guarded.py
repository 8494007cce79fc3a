"""The caller's end of a worker under a guardian: one request and one answer at a time, each a line of JSON."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

SECONDS = 120  # until a worker ends


class WorkerGone(RuntimeError):
    """The worker gave no answer."""


class Guarded:
    """`python -m MODULE` under the guardian, in mounts of its own; it is gone at the end, with all that it made."""

    def __init__(self, module: str, *words: str, name: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"powercut-real-{name}-"))
        theirs, self.alive = os.pipe()  # the guardian sees the end of it when this process is gone
        guardian = [sys.executable, "-m", "powercut.real_fs.guardian", str(self.folder), str(theirs)]
        self.process = subprocess.Popen(
            [*guardian, module, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[theirs],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path)},
        )
        os.close(theirs)

    def __enter__(self) -> Guarded:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        try:
            if error is None:
                self.process.wait(SECONDS)  # the worker ends by itself
        finally:
            os.close(self.alive)
            self.process.wait(SECONDS)
            self.process.stdout.close()

    def ask(self, request: Any, *, within: float) -> Any:
        """The answer. WorkerGone without one in so many seconds."""
        assert self.process.stdout
        self.tell(request)
        ready, _, _ = select.select([self.process.stdout], [], [], within)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            raise WorkerGone("the worker has ended" if ready else f"no answer in {within:g} s")
        return json.loads(line)

    def tell(self, request: Any) -> None:
        """A request that is not answered."""
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise WorkerGone("the worker has ended") from None
