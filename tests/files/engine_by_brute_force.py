"""`powercut-engine files` and `files-image` by brute force: a run of the commands on every legal tree at every instant.

The trees are those of the reference (replayer/media/files). `stand_in` makes a program of it for `POWERCUT_ENGINE`; all
other commands go on to the real engine. Known limits: it is slow, cuts nothing inside recovery, and leaves out trees
with names that lead to a bad inode.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.files import calls as traced
from powercut.models.switches import Switches
from replayer.media.files.calls import ROOT, Call, split
from replayer.media.files.disk import Disk
from replayer.media.files.objects import Inode
from replayer.media.files.trees import (
    BAD,
    Chosen,
    Shown,
    Tree,
    choices,
    cut,
    entries_of,
    legal_sizes,
    reachable,
    sector_choices,
    tree_of,
)

SECTOR, PAGE = 512, 4096
KINDS = {1: "file", 2: "folder", 3: "link"}


@dataclass(frozen=True)
class Numbered:
    """A call or a mark of the trace; a mark has the number of the call before it."""

    number: int
    call: Call
    mark: str = ""


def calls_of(trace: Path) -> list[Numbered]:
    """The calls of a trace; those of the tree at the start have the number 0."""
    found: list[Numbered] = []
    contents: dict[int, bytearray] = {}
    names: list[Call] = []
    number, started, operations = 0, False, 0
    for record in traced.records(paths.engine(), trace):
        if isinstance(record, traced.Mark):
            if record.kind in ("begin", "end"):
                found.append(Numbered(number, Call(record.kind), f"{record.code} {record.line()}"))
                operations += 1
        elif record.kind == "started":
            started = True
            for call in names:
                if call.op == "inode":
                    found.append(Numbered(0, Call("inode", call.inode, kind=call.kind, target=call.target,
                                                  data=bytes(contents.get(call.inode, b"")))))  # fmt: skip
            found += [Numbered(0, call) for call in names if call.op == "entry"]
            found.append(Numbered(0, Call("sync-all")))
        elif record.kind == "content":
            kept = contents.setdefault(record.inode, bytearray())
            kept.extend(bytes(max(0, record.offset + len(record.data) - len(kept))))
            kept[record.offset : record.offset + len(record.data)] = record.data
        elif record.kind in ("note", "ended"):
            continue
        elif not started:
            if record.kind == "size":
                kept = contents.setdefault(record.inode, bytearray())
                kept.extend(bytes(max(0, record.size - len(kept))))
                continue
            names.append(_converted(record))
        else:
            number += not (record.kind == "write" and record.flags & traced.CONTINUES)
            found.append(Numbered(number, _converted(record)))
    return found


def _converted(record: traced.Call) -> Call:
    name, to_name = (os.fsdecode(each) for each in (record.name, record.new_name))
    what = record.flags & 15
    match record.kind:
        case "inode" | "create":
            target = os.fsdecode(record.data) if record.flags == traced.LINK else ""
            return Call(record.kind, record.inode, record.folder, name, kind=KINDS[record.flags], target=target)
        case "entry" | "link" | "unlink":
            return Call(record.kind, record.inode, record.folder, name)
        case "rename":
            exchange = bool(record.flags & 1)
            return Call("rename", 0, record.folder, name, record.new_folder, to_name, exchange)
        case "write":
            through = "all" if record.flags & 2 else "data" if record.flags & 1 else "none"
            return Call("write", record.inode, offset=record.offset, data=record.data, through=through)
        case "sync" if what in (traced.SYNC_FILE, traced.SYNC_DATA):
            return Call("sync", record.inode, what=("file", "data")[what])
        case "sync":
            waits = what == traced.SYNC_MAPPING and record.flags >> 4 & traced.MS_SYNC
            return Call(
                "sync", record.inode, offset=record.offset, length=record.size, what="range" if waits else "started"
            )
        case "size":
            return Call("size", record.inode, size=record.size)
        case "allocate":
            mode = {0: "extend", 1: "keep", 3: "punch", 16: "zero", 17: "zero-keep"}[record.flags]
            return Call("allocate", record.inode, offset=record.offset, length=record.size, mode=mode)
    return Call(record.kind, record.inode)


def through_file(calls: list[Numbered], edit: dict[str, Any]) -> list[Numbered]:
    """The calls with a rewrite in place that goes through another file, which is synced and takes the name."""
    first, last, folder, name = edit["through"], edit["last"], edit["folder"], edit["name"]
    places = [i for i, each in enumerate(calls) if first <= each.number <= last and not each.mark]
    old = calls[places[0]].call.inode
    new = 1 + max(each.call.inode for each in calls)
    made = calls[: places[0]]
    made.append(Numbered(first, Call("create", new, folder, f"{name}.new")))
    for index, each in enumerate(calls[places[0] + 1 :], places[0] + 1):
        made.append(replace(each, call=replace(each.call, inode=new)) if each.call.inode == old else each)
        if index == places[-1]:
            made.append(Numbered(last, Call("sync", new)))
            made.append(Numbered(last, Call("rename", 0, folder, f"{name}.new", folder, name)))
            made.append(Numbered(last, Call("sync", folder)))
    return made


def edited(calls: list[Numbered], edits: Sequence[dict[str, Any]]) -> list[Numbered]:
    """The calls with syncs put in and calls moved; numbers stay."""
    made = list(calls)

    def at(number: int, *, behind: bool = False) -> int:
        places = [i for i, each in enumerate(made) if each.number == number and not each.mark]
        return places[-1] + 1 if behind else places[0]

    for edit in edits:
        if "move" in edit:
            moved = made.pop(at(edit["move"]))
            made.insert(at(edit["before"]), moved)
            continue
        if "through" in edit:
            made = through_file(made, edit)
            continue
        place = at(edit["after"], behind=True) if "after" in edit else at(edit["before"])
        sync = (
            Call("sync-all")
            if edit["sync"] == "all"
            else Call("sync", edit["inode"], what="data" if edit["sync"] == "data" else "file")
        )
        made.insert(place, Numbered(-1, sync))
    return made


@dataclass
class Parts:
    """The changes that one call has brought: steps of operations, and versions of sectors and sizes."""

    steps: set[tuple[int, int]] = field(default_factory=set)
    sectors: set[tuple[int, int, int]] = field(default_factory=set)
    sizes: set[tuple[int, int]] = field(default_factory=set)


@dataclass(frozen=True)
class State:
    tree: Tree
    #: The fate of each call that is not durable.
    fates: tuple[tuple[int, str], ...]


class Watched:
    """A disk under one profile that knows which call has brought what."""

    def __init__(self, switches: Switches, sector: int) -> None:
        self.disk = Disk(switches, sector=sector, page=PAGE)
        self.parts: dict[int, Parts] = {}

    def apply(self, numbered: Numbered) -> None:
        before = self._all()
        for effect in split(numbered.call):
            self.disk.apply(effect)
        if numbered.number > 0:
            parts, after = self.parts.setdefault(numbered.number, Parts()), self._all()
            parts.steps |= after.steps - before.steps
            parts.sectors |= after.sectors - before.sectors
            parts.sizes |= after.sizes - before.sizes

    def _all(self) -> Parts:
        disk = self.disk
        return Parts(
            {(n, p) for n, each in enumerate(disk.operations) for p in range(len(each.steps))},
            {
                (n, s, v)
                for n, inode in disk.inodes.items()
                for s, every in inode.sectors.items()
                for v in range(1, len(every))
            },
            {(n, v) for n, inode in disk.inodes.items() for v in range(1, len(inode.sizes))},
        )

    def states(self) -> Iterator[State]:
        disk = self.disk
        for chosen in choices(disk):
            entries = entries_of(disk, chosen)
            inodes = sorted(reachable(disk, entries))
            for picked in product(*(list(self._shown(number, chosen)) for number in inodes)):
                versions = dict(zip(inodes, picked, strict=True))
                tree = tree_of(entries, {number: each[0] for number, each in versions.items()})
                yield State(tree, tuple(self._fates(chosen, versions)))

    def _shown(self, number: int, chosen: Chosen) -> Iterator[tuple[Shown, dict[int, int], int]]:
        inode = self.disk.inodes[number]
        if inode.kind != "file":
            yield (inode.kind, inode.target, ()), {}, 0
            return
        for sectors in sector_choices(self.disk, inode, number, chosen):
            for version in legal_sizes(self.disk, inode, number, chosen):
                size = inode.sizes[version]
                if all(sectors.get(sector, 0) >= least for sector, least in size.needs):
                    assert isinstance(size.value, int)
                    yield ("file", "", cut(self.disk, inode, sectors, size.value)), sectors, version

    def _fates(
        self, chosen: Chosen, versions: dict[int, tuple[Shown, dict[int, int], int]]
    ) -> Iterator[tuple[int, str]]:
        disk = self.disk
        for number, parts in self.parts.items():
            there = [step in chosen.steps for step in parts.steps]
            sure = [
                step in disk.durable or (disk.switches.order != "any" and step[0] < disk.prefix) for step in parts.steps
            ]
            for inode, sector, version in parts.sectors:
                there.append(inode in versions and versions[inode][1].get(sector, 0) >= version)
                sure.append(_inode(disk, inode).sector_floors.get(sector, 0) >= version)
            for inode, version in parts.sizes:
                there.append(inode in versions and versions[inode][2] >= version)
                sure.append(_inode(disk, inode).size_floor >= version)
            if not all(sure):
                yield number, "on-disk" if all(there) else "partly" if any(there) else "lost"


def _inode(disk: Disk, number: int) -> Inode:
    return disk.inodes[number]


# -- commands on a tree ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class End:
    """How the commands ended on a tree: "" where all is good."""

    step: str
    kind: str
    code: int
    shown: str
    dump: str
    left: Tree


class Commands:
    def __init__(self, asked: argparse.Namespace, folder: Path) -> None:
        self.asked, self.folder = asked, folder
        self.runs = 0
        self.known: dict[Tree, End] = {}

    def on(self, tree: Tree) -> End:
        if tree not in self.known:
            self.known[tree] = self._run(tree)
        return self.known[tree]

    def _run(self, tree: Tree) -> End:
        self.runs += 1
        with tempfile.TemporaryDirectory(prefix="powercut-brute-") as name:
            image = Path(name) / "data"
            write_tree(tree, image)
            steps = [("recover", self.asked.recover), ("check", self.asked.check), ("dump", self.asked.dump)]
            dump = ""
            for step, text in steps:
                if not text:
                    continue
                words = [self._word(word, image) for word in json.loads(text)]
                try:
                    done = subprocess.run(
                        words, capture_output=True, text=True, errors="replace", timeout=self.asked.timeout or 5,
                        stdin=subprocess.DEVNULL,
                    )  # fmt: skip
                except subprocess.TimeoutExpired:
                    return End(step, "timeout", 0, "", "", read_tree(image))
                said = (done.stdout + done.stderr).strip()
                if done.returncode:
                    kind = "signal" if done.returncode < 0 else "exit"
                    return End(step, kind, abs(done.returncode), said, "", read_tree(image))
                dump = done.stdout if step == "dump" else dump
            return End("", "ok", 0, "", dump, read_tree(image))

    def _word(self, word: str, image: Path) -> str:
        if word == str(self.folder) or word.startswith(f"{self.folder}/"):
            return str(image) + word[len(str(self.folder)) :]
        return word.replace("{image}", str(image))


def write_tree(tree: Tree, image: Path) -> None:
    image.mkdir(parents=True)
    for path, (kind, target, content) in tree:
        place = image / path
        if kind == "folder":
            place.mkdir(exist_ok=True)
        elif kind == "link":
            place.symlink_to(target)
        else:
            place.write_bytes(b"".join(each if isinstance(each, bytes) else b"?" * each for each in content))


def read_tree(image: Path) -> Tree:
    found = []
    for path in sorted(image.rglob("*")):
        shown: Shown = ("folder", "", ())
        if path.is_symlink():
            shown = ("link", os.readlink(path), ())
        elif path.is_file():
            data = path.read_bytes()
            shown = ("file", "", tuple(data[at : at + SECTOR] for at in range(0, len(data), SECTOR)))
        found.append((str(path.relative_to(image)), shown))
    return tuple(sorted(found))


# -- events ------------------------------------------------------------------------------------------------


def emit(**event: Any) -> None:
    print(json.dumps(event), flush=True)


def _bytes(shown: Shown) -> bytes:
    return b"".join(each if isinstance(each, bytes) else b"?" * each for each in shown[2])


def _trees(*trees: Tree) -> list[dict[str, Any]]:
    all_paths = sorted({path for tree in trees for path, _ in tree})
    dicts = [dict(tree) for tree in trees]
    same = [path for path in all_paths if len({each.get(path) for each in dicts}) == 1]
    return [
        {
            "paths": [
                {
                    "path": path,
                    "kind": each[path][0],
                    "size": len(_bytes(each[path])),
                    "target": each[path][1],
                    "head": _bytes(each[path])[:256].hex(),
                    "digest": hashlib.sha256(_bytes(each[path])).hexdigest()[:16],
                }
                for path in all_paths
                if path not in same and path in each
            ],
            "others": len(same),
        }
        for each in dicts
    ]


@dataclass
class Explorer:
    asked: argparse.Namespace
    commands: Commands
    calls: list[Numbered]
    profiles: dict[str, Switches]
    outputs: list[str] = field(default_factory=list)
    found: int = 0

    def run(self) -> None:
        self._observe()
        rows = {name: {"crash_points": 0, "crash_states": 0, "findings": 0} for name in self.profiles}
        instants: dict[int, dict[str, list[State]]] = {}
        for name, switches in self.profiles.items():
            watched = Watched(switches, self.asked.sector)
            for place, numbered in enumerate(self.calls):
                watched.apply(numbered)
                if numbered.number == 0 and not numbered.mark:
                    continue
                states = [state for state in watched.states() if all(shown != BAD for _, shown in state.tree)]
                instants.setdefault(place, {})[name] = states
                rows[name]["crash_points"] += 1
                rows[name]["crash_states"] += len({state.tree for state in states})
        seen: set[tuple[Any, ...]] = set()
        plain = self._visible()
        for place, by_profile in instants.items():
            self._judge(place, by_profile, plain[place], rows, seen)
        worst = "inconsistent" if self.found else "consistent"
        states = str(sum(row["crash_states"] for row in rows.values()))
        points = max(row["crash_points"] for row in rows.values())
        emit(
            event="result", verdict=worst, events=len(self.calls), crash_points=points,
            crash_states=states, executions=self.commands.runs, queries=0, loads=0, leaves=1, seconds=0.1,
            coverage={"kind": "complete", "covered": states, "total": states, "nested_complete": None, "reason": None,
                      "acknowledged": bool(self.asked.dump) and len(self.outputs) > 1, "schedules": None},
            assumptions=self._assumptions(), not_checked={"lines_never_read": None, "stores_never_reached": None,
                                         "uninstrumented_calls": [], "atoms": "", "notes": []},
            profiles=[
                {"profile": name, "verdict": "inconsistent" if row["findings"] else "consistent", "complete": True,
                 "crash_points": row["crash_points"], "crash_states": str(row["crash_states"]),
                 "covered": str(row["crash_states"]), "findings": row["findings"], "reason": None}
                for name, row in rows.items()
            ],
        )  # fmt: skip

    def _assumptions(self) -> list[str]:
        if (size := self.asked.sector) == SECTOR:
            return []
        return [f"the disk writes each block of {size} bytes as a whole or not at all (--sector-size)"]

    def _visible(self) -> list[Tree]:
        """The tree as the program saw it behind each call."""
        watched, found = Watched(next(iter(self.profiles.values())), self.asked.sector), []
        for numbered in self.calls:
            watched.apply(numbered)
            found.append(visible(watched.disk))
        return found

    def _observe(self) -> None:
        """The output of the dump before all operations and behind each."""
        if not self.asked.dump:
            return
        trees = self._visible()
        first = next((i for i, each in enumerate(self.calls) if each.number or each.mark), len(self.calls))
        self.outputs = [self.commands.on(trees[max(0, first - 1)]).dump]
        self.outputs += [
            self.commands.on(trees[i]).dump
            for i, each in enumerate(self.calls)
            if each.mark.startswith("OK") or each.call.op == "end"
        ]

    def _judge(
        self, place: int, by_profile: dict[str, list[State]], plain: Tree, rows: dict[str, dict[str, int]],
        seen: set[tuple[Any, ...]],
    ) -> None:  # fmt: skip
        so_far = self.calls[: place + 1]
        ended = sum(each.call.op == "end" for each in so_far)
        begun = sum(each.call.op == "begin" for each in so_far)
        number = max(each.number for each in so_far)
        wrong: dict[State, tuple[str, str, End, list[str]]] = {}
        every: dict[State, list[str]] = {}
        for name, states in by_profile.items():
            for state in states:
                every.setdefault(state, []).append(name)
        for state in every:
            if fault := self._fault(state.tree, ended, begun):
                wrong[state] = (*fault, every[state])
        for state, (invariant, message, end, legal) in sorted(wrong.items(), key=lambda item: _cost(item[0])):
            decisive = {call for call, _ in state.fates if self._decides(call, state, every, wrong)}
            key = (invariant, tuple((call, fate) for call, fate in state.fates if call in decisive))
            if key in seen:
                continue
            seen.add(key)
            self.found += 1
            for name in legal:
                rows[name]["findings"] += 1
            met, seen_tree, left = _trees(state.tree, plain, end.left)
            choice = [[path, *shown[:2], _bytes(shown).hex()] for path, shown in state.tree]
            when = {"index": place, "event": number + 1, "when": f"before call {number + 1}", "depth": 0}
            emit(
                event="finding", key=hashlib.sha256(repr(key).encode()).hexdigest()[:16], invariant=invariant,
                underlying=None, message=message, needs_power_cut=True,
                operation={"index": ended, "kind": "operation", "key": None, "text": "", "in_flight": begun > ended},
                query={"kind": "program", "key": None, "region": None, "text": end.step or "dump"},
                expected=sorted(set(self.outputs[ended : begun + 1])) if self.outputs else ["exit status 0"],
                found=f"exit status {end.code}: {end.shown}" if end.kind != "ok" else end.dump,
                crash_point={**when, "nested_event": None},
                fault=None, image=[], nested_image=[], stores=[], timeline={"crash_event": number + 1, "lines": []},
                contents={"expected": [], "actual": []},
                files={
                    "profiles": legal, "side": "before", "call": number + 1,
                    "calls": [{"call": call, "fate": fate, "decisive": call in decisive} for call, fate in state.fates],
                    "met": met, "visible": seen_tree, "left": left,
                    "choice": choice,
                    "allowed": [ended, begun],
                },
            )  # fmt: skip

    def _fault(self, tree: Tree, ended: int, begun: int) -> tuple[str, str, End] | None:
        end = self.commands.on(tree)
        if end.kind != "ok":
            invariant = (
                "structure" if end.step == "check" else "recovery-hang" if end.kind == "timeout" else "recovery-failed"
            )
            return invariant, f"The command {end.step} ends with {end.kind} {end.code}.", end
        if len(self.outputs) < 2 or end.dump in self.outputs[ended : begun + 1]:
            return None
        lost = end.dump in self.outputs[:ended]
        return (
            ("lost-item" if lost else "structure"),
            "The dump prints what no legal prefix of the operations does.",
            end,
        )

    def _decides(self, call: int, state: State, every: dict[State, list[str]], wrong: dict[State, Any]) -> bool:
        """Whether the answer goes when the fate of this call alone is another one."""
        rest = [pair for pair in state.fates if pair[0] != call]
        others = [
            other
            for other in every
            if [pair for pair in other.fates if pair[0] != call] == rest and other.fates != state.fates
        ]
        own = dict(state.fates)[call]
        if not others:
            return own != "on-disk"
        return any(other not in wrong for other in others)


def _cost(state: State) -> tuple[int, tuple[tuple[int, str], ...]]:
    return sum({"on-disk": 0, "partly": 1, "lost": 2}[fate] for _, fate in state.fates), state.fates


def visible(disk: Disk) -> Tree:
    """The tree as the program sees it."""
    entries = {name: inode for name, inode in disk.names.items() if inode}
    shown: dict[int, Shown] = {}
    for number in reachable(disk, entries):
        inode = disk.inodes[number]
        newest = {sector: len(versions) - 1 for sector, versions in inode.sectors.items()}
        content = cut(disk, inode, newest, inode.size) if inode.kind == "file" else ()
        shown[number] = (inode.kind, inode.target, content)
    assert ROOT in shown
    return tree_of(entries, shown)


def stand_in(folder: Path) -> Path:
    """A program in the folder that stands in for the engine."""
    real = paths.engine()
    script = folder / "brute-force-engine"
    own = f"PYTHONPATH={paths.home()} exec {sys.executable} -m tests.files.engine_by_brute_force"
    script.write_text(
        f'#!/bin/sh\ncase $1 in\nfiles|files-image) POWERCUT_ENGINE={real} {own} "$@";;\n*) exec {real} "$@";;\nesac\n'
    )
    script.chmod(0o755)
    return script


def arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in (
        "trace",
        "folder",
        "profiles",
        "recover",
        "check",
        "dump",
        "edits",
        "finding",
        "out",
        "work",
        "seed",
        "jobs",
    ):
        parser.add_argument(f"--{name}")
    for name in ("budget-seconds", "budget-found", "budget-spent", "budget-executions", "timeout"):
        parser.add_argument(f"--{name}", type=float)
    for name, default in (("nested", 0), ("runs", 1), ("sector", SECTOR)):
        parser.add_argument(f"--{name}", type=int, default=default)
    for name in ("ordered", "stop-at-functional"):
        parser.add_argument(f"--{name}", action="store_true")
    return parser.parse_args(words)


def main() -> None:
    command, asked = sys.argv[1], arguments(sys.argv[2:])
    emit(event="hello", version=3, engine="0.2.0", command=command)
    calls = calls_of(Path(asked.trace))
    profiles = {name: Switches(**value) for name, value in json.loads(Path(asked.profiles).read_text()).items()}
    commands = Commands(asked, Path(asked.folder))
    explorer = Explorer(
        asked, commands, edited(calls, json.loads(Path(asked.edits).read_text()) if asked.edits else []), profiles
    )
    if command == "files-image":
        _image(explorer)
    else:
        emit(
            event="run", target="brute", variant="", scenario="program", model="files", strategy="folder", seed=1,
            nested=0, jobs=1, atoms="any", events=len(calls),
        )  # fmt: skip
        explorer.run()
    emit(event="end", exit=0)


def _image(explorer: Explorer) -> None:
    asked, commands = explorer.asked, explorer.commands
    answer: dict[str, Any] = {"event": "imaged", "files": [], "same": True}
    tree = explorer._visible()[-1]
    if asked.finding:
        files = json.loads(Path(asked.finding).read_text())["files"]
        sectors = [(path, kind, target, bytes.fromhex(data)) for path, kind, target, data in files["choice"]]
        tree = tuple(
            (path, (kind, target, tuple(data[at : at + SECTOR] for at in range(0, len(data), SECTOR))))
            for path, kind, target, data in sectors
        )
        explorer._observe()
        if fault := explorer._fault(tree, *files["allowed"]):
            answer["violation"] = {"invariant": fault[0], "query": fault[2].step, "message": fault[1]}
    end = commands.on(tree)
    answer["runs"] = [
        {"step": end.step or "recover", "kind": end.kind, "code": end.code, "shown": end.shown}
    ] * asked.runs
    if asked.out:
        shutil.rmtree(asked.out, ignore_errors=True)
        write_tree(tree, Path(asked.out))
        answer["files"] = [asked.out]
    emit(**answer)


if __name__ == "__main__":
    main()
