"""The tests' end of a rig: starts the guardian of one file system, and asks its worker."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from types import TracebackType

from powercut.base import paths

from .rig import Job, Outside, Result

SECONDS = 120  # for one job; a rig that takes longer hangs


class RigError(RuntimeError):
    """The rig itself failed; nothing is known of the file system."""


class GuardedRig:
    def __init__(self, system: str) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=f"powercut-real-{system}-"))
        theirs, self.alive = os.pipe()  # the guardian sees the end of it when this process is gone
        command = [sys.executable, "-m", f"{__package__}.guardian", str(self.folder), str(theirs), system]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, pass_fds=[theirs], cwd=paths.home()
        )
        os.close(theirs)

    def __enter__(self) -> GuardedRig:
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

    def run(self, job: Job) -> Result:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps(asdict(job)) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            raise RigError(f"{job}: no answer{'' if ready else f' in {SECONDS} s'}.")
        record = json.loads(line)
        result = Result(**record | {"outside": [Outside(**each) for each in record["outside"]]})
        if result.error:
            raise RigError(f"{job}:\n{result.error}")
        return result
