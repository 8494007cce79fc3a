"""The tests' end of a rig: starts the guardian of one file system, and asks its worker."""

from __future__ import annotations

from dataclasses import asdict

from powercut.real_fs.guarded import Guarded, WorkerGone

from .rig import Job, Outside, Result

SECONDS = 120  # for one job; a rig that takes longer hangs


class RigError(RuntimeError):
    """The rig itself failed; nothing is known of the file system."""


class GuardedRig(Guarded):
    def __init__(self, system: str) -> None:
        assert __package__
        super().__init__(__package__, system, name=system)

    def __enter__(self) -> GuardedRig:
        return self

    def run(self, job: Job) -> Result:
        try:
            record = self.ask(asdict(job), within=SECONDS)
        except WorkerGone as error:
            raise RigError(f"{job}: {error}.") from None
        result = Result(**record | {"outside": [Outside(**each) for each in record["outside"]]})
        if result.error:
            raise RigError(f"{job}:\n{result.error}")
        return result
