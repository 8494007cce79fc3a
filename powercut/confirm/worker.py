"""`python -m powercut.confirm.worker FOLDER TAG SYSTEM`: the worker of a guardian. The first line of its input is a
`Start`, and each further one a `Run`. A line with a `Looked` answers each run."""

from __future__ import annotations

import json
import sys
import time
import traceback
from contextlib import ExitStack
from hashlib import blake2b
from pathlib import Path
from random import Random
from types import TracebackType

from powercut.confirm import choosing, commands, outcomes, trees
from powercut.confirm.choosing import Moment
from powercut.confirm.recorder import JUDGED, Recorded, Recorder
from powercut.confirm.requests import Looked, Run, Start
from powercut.real_fs import kernel
from powercut.real_fs.block_log import Blocks, CrashPoint, Images
from powercut.real_fs.guardian import MADE
from powercut.real_fs.image_mount import ImageMount
from powercut.real_fs.recording_disk import RecordingDisk
from powercut.real_fs.systems import SYSTEMS
from powercut_records.finding import FindingRecord

TRIES = 4  # draws for each image that is wanted: many draws are an image that was mounted before


class Bench:
    """A real file system over a recording disk, and a place where images are mounted."""

    def __init__(self, folder: Path, tag: str, system: str, start: Start) -> None:
        self.system, self.start = SYSTEMS[system], start
        self.finding = FindingRecord.model_validate(start.record)
        assert self.finding.files is not None
        self.moment = Moment.of(self.finding.files, alone=outcomes.is_of_output(self.finding))
        self.folder = Path(start.folder)
        self.known: dict[bytes, bool] = {}  # trees that were judged
        if not self.folder.exists():
            (folder / MADE).write_text(start.folder, encoding="utf-8")
            self.folder.mkdir()
        with ExitStack() as stack:
            self.disk = stack.enter_context(RecordingDisk(folder, tag, self.system))
            self.recorder = Recorder(folder, self.system, self.disk, start)
            self.mount = stack.enter_context(ImageMount(folder, tag, self.system, JUDGED))
            self.stack = stack.pop_all()

    def __enter__(self) -> Bench:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stack.close()

    def run(self, run: Run) -> Looked:
        """Records once, and looks at images until one fails as the finding does."""
        random = Random(f"{self.system.name} {self.finding.fingerprint} {run.number}")
        until = time.monotonic() + run.within
        recorded = self.recorder.record(self.moment, random, until=time.monotonic() + self.start.timeout)
        looked = Looked(calls=recorded.calls)
        images: dict[CrashPoint, Images] = {}
        seen: set[bytes] = set()
        points = choosing.ordered(list(recorded.log.crash_points()), self.moment, random)
        for _, point in zip(range(TRIES * run.images), points, strict=False):
            if looked.images >= run.images or time.monotonic() > until:
                break
            if point not in images:
                sector = self.system.sector
                images[point] = Images(recorded.log, point, recorded.before, sector=sector, unit=sector)
            blocks = images[point].draw(random)
            name = _name_of(blocks)
            if name in seen:
                continue
            seen.add(name)
            looked.images += 1
            if self._fails(recorded, blocks, images[point], looked):
                looked.reproduced = looked.images
                break
        return looked

    def _fails(self, recorded: Recorded, blocks: Blocks, images: Images, looked: Looked) -> bool:
        """Whether the commands fail on the image as in the finding; on one with a whole superblock, where a torn one
        cannot be mounted."""
        fails = self._judged(recorded, blocks)
        if fails is None and self.system.superblock:
            fails = self._judged(recorded, images.with_durable(blocks, self.system.superblock))
        if fails is None:
            looked.refused += 1
        return bool(fails)

    def _judged(self, recorded: Recorded, blocks: Blocks) -> bool | None:
        """None: the kernel refuses the image."""
        self.mount.write(recorded.before, blocks)
        with ExitStack() as stack:
            try:
                judged = stack.enter_context(self.mount.mounted())
            except OSError:
                return None
            tree = trees.digest_of(judged)
            if tree not in self.known:
                self.known[tree] = outcomes.same(self.finding, self._steps(judged))
            return self.known[tree]

    def _steps(self, judged: Path) -> list[outcomes.Step]:
        """Runs the commands on the folder, in the place of the user's."""
        kernel.bind(judged, self.folder)
        try:
            start = self.start
            return commands.run(start.commands, cwd=start.cwd, environment=start.environment, seconds=start.seconds)
        finally:
            commands.end_all_but(self.disk.process.pid)
            kernel.unmount(self.folder, later=True)


def _name_of(blocks: Blocks) -> bytes:
    digest = blake2b(digest_size=16)
    for number, data in sorted(blocks.items()):
        digest.update(number.to_bytes(8, "little") + data)
    return digest.digest()


def main(folder: str, tag: str, system: str) -> int:
    kernel.adopt_orphans()
    start = Start(**json.loads(sys.stdin.readline()))
    with ExitStack() as stack:
        bench: Bench | None = None
        for line in sys.stdin:
            try:
                bench = bench or stack.enter_context(Bench(Path(folder), tag, system, start))
                looked = bench.run(Run(**json.loads(line)))
            except TimeoutError:
                looked = Looked(error="the program did not come to the finding's moment in time")
            except Exception:
                looked = Looked(error=traceback.format_exc())
            print(json.dumps(looked.as_json()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
