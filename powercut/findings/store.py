"""The folder `findings/` of an output folder: a finding is on disk before anyone hears of it.

`kill -9` of the engine or of this process loses no finding that was announced.
"""

import shlex
import threading
from pathlib import Path

from powercut.base.output_files import write_json
from powercut_records.base import changed
from powercut_records.finding import FindingRecord


class FindingStore:
    """The folder `findings/` of one command, shared by its runs.

    Runs may find the same bug. The record of the first run in the command's order keeps the file,
    whichever run came first in time: the folder's content does not depend on --jobs.
    """

    def __init__(self, out: Path) -> None:
        self.folder = out / "findings"
        self._lock = threading.Lock()
        self._candidates: dict[str, dict[int, FindingRecord]] = {}

    def put(self, record: FindingRecord, *, order: int) -> FindingRecord:
        """Completes the record of run number `order` with its file and command; on disk when it returns."""
        name = record.fingerprint
        path = self.folder / f"{name}.json"
        complete = changed(record, file=str(path), reproduce=f"powercut reproduce {shlex.quote(str(path))}")
        with self._lock:
            candidates = self._candidates.setdefault(name, {})
            candidates[order] = complete
            if order == min(candidates):
                write_json(path, complete.as_json())
        return complete

    def withdraw(self, name: str, *, order: int) -> None:
        """Run `order` replaced its finding `name` by a better one, which is on disk already."""
        path = self.folder / f"{name}.json"
        with self._lock:
            candidates = self._candidates.get(name, {})
            if candidates.pop(order, None) is None:
                return
            if candidates:
                write_json(path, candidates[min(candidates)].as_json())
            else:
                path.unlink(missing_ok=True)

    def set_aside(self, name: str, *, order: int, why: str) -> None:
        """Run `order` cannot be trusted. Its finding `name` was announced: the file stays, and says that it does not
        count, unless another run has the same finding.
        """
        with self._lock:
            candidates = self._candidates.get(name, {})
            record = candidates.pop(order, None)
            if record is None:
                return
            kept = candidates[min(candidates)] if candidates else changed(record, withdrawn=why)
            write_json(self.folder / f"{name}.json", kept.as_json())
