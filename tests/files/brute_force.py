"""Judges a recorded folder by brute force: lays out each tree that the reference calls legal, and runs the commands.

Neither the engine's explorer nor its trees have a part in it. The recorder and the reader of traces do.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from powercut.base import paths
from powercut.files import calls as recorded
from powercut.files import record
from powercut.models.switches import Switches
from replayer.media.files import reference
from replayer.media.files.calls import Call, split_all
from replayer.media.files.disk import Disk
from replayer.media.files.trees import Tree, cut, reachable, tree_of

SECTOR, PAGE = 512, 4096
_KINDS = {recorded.FILE: "file", recorded.FOLDER: "folder", recorded.LINK: "link"}
#: A record's kind, where a call of the reference has another word.
#: An exit status, and sorted lines.
Answer = tuple[int, tuple[str, ...]]
_SYNCS = {recorded.SYNC_FILE: "file", recorded.SYNC_DATA: "data"}


def calls_of(trace: Path) -> list[Call]:
    """The calls of a trace in the language of the reference, the tree of the start first. No folder of the start, no
    `fallocate` and no mapping is translated."""
    inodes: dict[int, Call] = {}
    made: list[Call] = []
    started = False
    for each in recorded.records(paths.engine(), trace):
        if isinstance(each, recorded.Mark):
            made.append(Call(each.kind))
        elif each.kind == "started":
            started = True
        elif each.kind == "inode" and each.inode != recorded.ROOT:
            inode = Call("inode", each.inode, kind=_KINDS[each.flags])
            made.append(inode) if started else inodes.__setitem__(each.inode, inode)
        elif each.kind == "content":
            before = inodes[each.inode]
            assert each.offset == len(before.data)
            inodes[each.inode] = replace(before, data=before.data + each.data)
        elif each.kind == "size" and not started:  # a hole at the end
            before = inodes[each.inode]
            inodes[each.inode] = replace(before, data=before.data.ljust(each.size, b"\0"))
        elif each.kind == "write" and each.flags & recorded.CONTINUES:
            made[-1] = replace(made[-1], data=made[-1].data + each.data)
        elif each.kind not in ("inode", "attributes", "ended"):
            made.append(_call(each))
    return [*inodes.values(), *made]


def _call(each: recorded.Call) -> Call:
    name, new_name = each.name.decode(), each.new_name.decode()
    match each.kind:
        case "entry" | "link" | "create" as op:
            kind = _KINDS[each.flags] if op == "create" else "file"
            return Call(op, each.inode, each.folder, name, kind=kind)
        case "unlink":
            return Call("unlink", folder=each.folder, name=name)
        case "rename":
            return Call("rename", folder=each.folder, name=name, to_folder=each.new_folder, to_name=new_name)
        case "write" if not each.flags & (recorded.DATA_THROUGH | recorded.ALL_THROUGH | recorded.BY_MAPPING):
            return Call("write", each.inode, offset=each.offset, data=each.data)
        case "size":
            return Call("size", each.inode, size=each.size)
        case "sync":
            return Call("sync", each.inode, what=_SYNCS.get(each.flags, "started"))
    raise ValueError(f"{each} has no counterpart")


@dataclass
class Judge:
    """Runs the commands of a program on trees. `run(verb)` has the program's folder at `folder`."""

    folder: Path
    words: str
    known: dict[tuple[Tree, str], tuple[int, tuple[str, ...]]] = field(default_factory=dict)
    recorded: dict[tuple[Tree, str], list[Call]] = field(default_factory=dict)

    def answer(self, tree: Tree, verbs: str) -> tuple[int, tuple[str, ...]]:
        """The exit status of the last command that ran, and its sorted lines. A command that fails is the last one."""
        if (tree, verbs) not in self.known:
            self._lay(tree)
            for verb in verbs.split():
                command = [*shlex.split(self.words), verb, str(self.folder)]
                done = subprocess.run(command, capture_output=True, text=True, timeout=60)
                if done.returncode:
                    break
            self.known[tree, verbs] = done.returncode, tuple(sorted(done.stdout.splitlines()))
        return self.known[tree, verbs]

    def recovery(self, tree: Tree, trace: Path, verbs: str = "check") -> list[Call]:
        """The calls that the commands make on a tree, one after the other. `trace`: a file for the recording."""
        if (tree, verbs) not in self.recorded:
            self._lay(tree)
            commands = [shlex.join([*shlex.split(self.words), verb, str(self.folder)]) for verb in verbs.split()]
            record.record(["sh", "-c", " && ".join(commands)], self.folder, trace)
            self.recorded[tree, verbs] = calls_of(trace)
        return self.recorded[tree, verbs]

    def _lay(self, tree: Tree) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        for path, (kind, target, content) in tree:
            place = self.folder / path.lstrip("/")
            if kind == "folder":
                place.mkdir(exist_ok=True)
            elif kind == "link":
                place.symlink_to(target)
            else:
                place.write_bytes(b"".join(part for part in content if isinstance(part, bytes)))


def visible(disk: Disk) -> Tree:
    """The tree that the program sees."""
    entries = {name: inode for name, inode in disk.names.items() if inode}
    shown = {}
    for number in reachable(disk, entries):
        inode = disk.inodes[number]
        newest = {sector: len(versions) - 1 for sector, versions in inode.sectors.items()}
        size = inode.sizes[-1].value if inode.kind == "file" else 0
        assert isinstance(size, int)
        shown[number] = (inode.kind, inode.target, cut(disk, inode, newest, size))
    return tree_of(entries, shown)


@dataclass
class SecondCuts:
    """Records recovery on trees. Called with a tree: those that a power cut inside of this recovery may leave, under
    the file system of `switches`."""

    judge: Judge
    switches: Switches
    trace: Path
    known: dict[Tree, set[Tree]] = field(default_factory=dict)

    def __call__(self, tree: Tree) -> set[Tree]:
        if tree not in self.known:
            calls = self.judge.recovery(tree, self.trace)
            points = reference.crash_points(calls, self.switches, sector=SECTOR, page=PAGE)
            self.known[tree] = {second for point in points for second in point.trees}
        return self.known[tree]


def answers_after(calls: Sequence[Call], switches: Switches, judge: Judge, verbs: str) -> list[Answer]:
    """The answers where nothing is lost: when the first operation begins, when each ends, and at the end."""
    disk = Disk(switches, sector=SECTOR, page=PAGE)
    after: list[Answer] = []
    for call in calls:
        if call.op == "end" or (call.op == "begin" and not after):
            after.append(judge.answer(visible(disk), verbs))
        for effect in split_all([call]):
            disk.apply(effect)
    return [*after, judge.answer(visible(disk), verbs)]


def may_survive(calls: Sequence[Call], point: reference.CrashPoint) -> slice:
    """The part of `answers_after` that a cut may leave: operations that have ended, and those that have begun."""
    done = calls[: point.index + (point.side == "after")]
    return slice(sum(call.op == "end" for call in done), sum(call.op == "begin" for call in done) + 1)


def wrong_trees(
    calls: Sequence[Call],
    switches: Switches,
    judge: Judge,
    *,
    dumps: bool,
    then: Callable[[Tree], Iterable[Tree]] = lambda tree: (tree,),
) -> Iterator[tuple[reference.CrashPoint, Tree]]:
    """Legal trees on which a restart fails, or after which the dump is that of no instant which may have survived: the
    dump behind a restart where nothing is lost. `then`: the trees that are judged in the place of a legal one."""
    verbs = "check dump" if dumps else "check"
    after = answers_after(calls, switches, judge, verbs) if dumps else []
    for point in reference.crash_points(calls, switches, sector=SECTOR, page=PAGE):
        allowed = after[may_survive(calls, point)]
        for tree in {tree for legal in point.trees for tree in then(legal)}:
            answer = judge.answer(tree, verbs)
            if answer[0] or (dumps and answer not in allowed):
                yield point, tree


def wrong_lives(
    calls: Sequence[Call], switches: Switches, judge: Judge, trace: Path, *, dumps: bool
) -> Literal["", "continuation", "second cut"]:
    """The step at which some second life goes wrong, where the first life is right; empty: none does. The continuation
    is one operation, acknowledged when the command ends. `trace`: a file for recordings."""
    once, again = ("check dump", "check continue dump") if dumps else ("check", "check continue")
    behind_one, behind_two = (answers_after(calls, switches, judge, verbs) if dumps else [] for verbs in (once, again))

    def lives(tree: Tree) -> Iterator[tuple[bool, Tree]]:
        """The trees that a cut of the continuation leaves, each with whether the continuation had ended."""
        recovered = len(judge.recovery(tree, trace))
        both = judge.recovery(tree, trace, "check continue")
        for point in reference.crash_points(both, switches, sector=SECTOR, page=PAGE):
            done = point.index + (point.side == "after")
            # A continuation that makes no call leaves nothing that recovery alone does not.
            if recovered <= done and len(both) > recovered:
                yield from ((done == len(both), last) for last in point.trees)

    def is_wrong(answer: Answer, allowed: Sequence[Answer]) -> bool:
        return bool(answer[0]) or (dumps and answer not in allowed)

    for point in reference.crash_points(calls, switches, sector=SECTOR, page=PAGE):
        window = may_survive(calls, point)
        first, second = behind_one[window], behind_two[window]
        for tree in point.trees:
            if is_wrong(judge.answer(tree, once), first):
                continue
            if is_wrong(judge.answer(tree, again), second):
                return "continuation"
            for ended, last in lives(tree):
                if is_wrong(judge.answer(last, once), second if ended else [*first, *second]):
                    return "second cut"
    return ""
