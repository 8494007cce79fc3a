"""A program of calls on a real file system, held against the trees of a profile.

The reference beside this folder says which trees are legal at each instant; the rig only compares.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Any

from powercut.models import profiles
from powercut.models.switches import Switches
from powercut.real_fs.block_log import Blocks, CrashPoint, Images
from powercut.real_fs.image_mount import ImageMount
from powercut.real_fs.recording_disk import RecordingDisk
from powercut.real_fs.systems import SYSTEMS
from replayer.media.files import language, litmus, programs
from replayer.media.files.calls import Call, split_all
from replayer.media.files.reference import trees_at_instants

from .folder import PAGE, read_tree
from .recorder import JUDGED, Recorder, Recording

#: No profile has this tree.
NO_MOUNT = "the file system cannot be mounted"
TRIES = 3  # draws for each image that is wanted: many draws are an image that was mounted before


@dataclass(frozen=True, slots=True)
class Job:
    """A program to run: a litmus test by its name, or the random program of a seed."""

    test: str = ""
    seed: int = 0
    recordings: int = 2
    images: int = 20  # of each recording, at most
    draw: int = 1  # the seed of nudges and images
    switches: Mapping[str, str] = field(default_factory=dict)  # in the place of the profile's own
    keep: str = ""  # a folder for the images of trees outside


@dataclass(slots=True)
class Outside:
    """A tree that the profile does not allow at this moment."""

    tree: str
    instants: list[int]
    recording: int
    entries: int  # of the block log, before the power failed
    messages: list[str] = field(default_factory=list)  # of the kernel, where it refused the image


@dataclass(slots=True)
class Result:
    name: str
    images: int = 0
    refused: int = 0  # images that were mounted only once their superblock was whole
    unsteady: int = 0  # images whose tree was outside, and was not when the image was mounted once more
    legal: int = 0  # trees of the profile at some instant
    seen: int = 0  # of these
    outside: list[Outside] = field(default_factory=list)
    text: str = ""  # of the program, where a tree lies outside
    error: str = ""  # the rig itself failed

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Program:
    name: str
    start: list[Call]
    calls: Sequence[Call]
    page: int  # letters
    text: str

    @classmethod
    def of(cls, job: Job) -> Program:
        if job.test:
            test = next(test for test in litmus.load() if test.name == job.test)
            name, calls, page, text = test.name, test.calls, test.page, ""
        else:
            random = programs.generate(Random(job.seed))
            name, calls, page, text = f"random program {job.seed}", random.calls, random.page, str(random)
        begin = start_of(calls)
        return cls(name, list(calls[:begin]), calls[begin:], page, text)


@dataclass(frozen=True, slots=True)
class Image:
    recording: Recording
    point: CrashPoint
    blocks: Blocks
    unit: int  # bytes of a letter


def start_of(calls: Sequence[Call]) -> int:
    """How many calls make the tree at the start. An inode that no entry follows is a file of O_TMPFILE."""
    at = 0
    while at < len(calls):
        if calls[at].op == "entry":
            at += 1
        elif calls[at].op == "inode" and at + 1 < len(calls) and calls[at + 1].op == "entry":
            at += 2
        else:
            break
    return at


def legal_at_instants(program: Program, switches: Switches) -> list[frozenset[str]]:
    """The reference's trees before the first effect of the program's calls, and behind each."""
    effects = [*program.start, *split_all(program.calls)]
    every = trees_at_instants(effects, switches, sector=language.SECTOR, page=program.page)
    return [frozenset(map(language.text_of, trees)) for trees in islice(every, len(program.start), None)]


class Rig:
    """The rig of one file system. It needs mounts of its own, and a guardian."""

    def __init__(self, folder: Path, tag: str, name: str) -> None:
        self.system = SYSTEMS[name]
        with ExitStack() as stack:
            disk = stack.enter_context(RecordingDisk(folder, tag, self.system))
            self.recorder = Recorder(folder, self.system, disk)
            self.mount = stack.enter_context(ImageMount(folder, tag, self.system, JUDGED))
            self.stack = stack.pop_all()

    def __enter__(self) -> Rig:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stack.close()

    def run(self, job: Job) -> Result:
        program = Program.of(job)
        switches = replace(profiles.named(self.system.profile).switches, **job.switches)
        legal = legal_at_instants(program, switches)
        result = Result(program.name)
        seen: set[str] = set()
        for number in range(job.recordings):
            random = Random(f"{self.system.name} {program.name} {job.draw} {number}")
            recording = self.recorder.record(program.start, program.calls, PAGE // program.page, random)
            for image, tree in self._trees(recording, PAGE // program.page, job.images, random, result):
                instants = image.point.instants
                if not any(tree in legal[instant] for instant in instants):
                    tree = self._tree(image)  # once more
                    if any(tree in legal[instant] for instant in instants):
                        result.unsteady += 1
                        continue
                    outside = Outside(tree, list(instants), number, image.point.entries)
                    outside.messages = self.mount.messages if tree.startswith(NO_MOUNT) else []
                    result.outside.append(outside)
                    result.text = program.text
                    if job.keep:
                        name = f"{self.system.name} {program.name} {number} {outside.entries}"
                        self.mount.keep(Path(job.keep), name)
                seen.add(tree)
        every = frozenset[str]().union(*legal)
        result.legal, result.seen = len(every), len(seen & every)
        return result

    def _trees(
        self, recording: Recording, unit: int, most: int, random: Random, result: Result
    ) -> Iterator[tuple[Image, str]]:
        """Images at crash points of the recording, each with the tree that was read."""
        points = list(recording.log.crash_points())
        images: dict[CrashPoint, Images] = {}
        trees: dict[frozenset[tuple[int, bytes]], tuple[Image, str]] = {}
        for _ in range(TRIES * most):
            if len(trees) >= most:
                break
            point = random.choice(points)
            if point not in images:
                images[point] = Images(recording.log, point, recording.before, sector=self.system.sector, unit=unit)
            blocks = images[point].draw(random)
            key = frozenset(blocks.items())
            if key not in trees:
                trees[key] = self._mounted(Image(recording, point, blocks, unit), images[point], result)
            image, tree = trees[key]
            yield replace(image, point=point), tree
        result.images += len(trees)

    def _mounted(self, image: Image, drawn: Images, result: Result) -> tuple[Image, str]:
        """The image, or one with a whole superblock where a torn one cannot be mounted; with its tree."""
        tree = self._tree(image)
        if tree.startswith(NO_MOUNT) and self.system.superblock:
            result.refused += 1
            image = replace(image, blocks=drawn.with_durable(image.blocks, self.system.superblock))
            tree = self._tree(image)
        return image, tree

    def _tree(self, image: Image) -> str:
        self.mount.write(image.recording.before, image.blocks)
        try:
            with self.mount.mounted() as folder:
                return read_tree(folder, image.unit)
        except OSError as error:
            return f"{NO_MOUNT}: {error.strerror}"
