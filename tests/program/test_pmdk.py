"""The programs of targets/pmdk: as programs, and explored in program mode with the Valgrind tool."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.engine.events import Module
from powercut.symbols.symbolize import Symbolizer, site_frame

MAPS = ("pmdk-tx-map", "pmdk-atomic-map")
#: The library flushes lines, as on persistent memory, and does not call msync.
ENVIRONMENT: Mapping[str, str] = {**os.environ, "PMEM_IS_PMEM_FORCE": "1"}


def program(name: str) -> Path:
    path = paths.build_dir() / "bin" / name
    if not path.exists():
        pytest.skip(f"{name}: not built; run 'make build'")
    return path


def call(*arguments: str | Path, expect: int = 0) -> str:
    """The output of a command."""
    done = subprocess.run([str(a) for a in arguments], capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    assert done.returncode == expect, f"{arguments}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", MAPS)
def test_pool_is_consistent_for_pmempool(name: str, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    call(program(name), "create", pool)
    call(program(name), "run", pool, "--ops", "300")
    assert "consistent" in call("pmempool", "check", "-v", pool)
    items = int(call(program(name), "check", pool).split()[0])
    assert items == len(call(program(name), "dump", pool).splitlines()) > 50


@pytest.mark.parametrize("name", MAPS)
def test_pool_from_pmempool_is_taken(name: str, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    layout = name.replace("pmdk", "powercut")
    call("pmempool", "create", "obj", f"--layout={layout}", "--size=8M", pool)
    call(program(name), "run", pool, "--ops", "40")
    call(program(name), "check", pool)
    assert "consistent" in call("pmempool", "check", "-v", pool)


@pytest.mark.parametrize("name", MAPS)
def test_runs_from_one_pool_write_the_same_bytes(name: str, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    call(program(name), "create", pool)
    # Names of one length: the stack begins below the arguments, and libpmemobj stores an address of it.
    copies = [tmp_path / "one", tmp_path / "two"]
    for copy in copies:
        shutil.copy(pool, copy)
        call("setarch", "--addr-no-randomize", program(name), "run", copy, "--ops", "60")
    assert copies[0].read_bytes() == copies[1].read_bytes()
    assert copies[0].read_bytes() != pool.read_bytes()


@pytest.mark.parametrize("name", MAPS)
def test_bad_input_is_named(name: str, tmp_path: Path) -> None:
    pool, junk = tmp_path / "pool", tmp_path / "junk"
    assert "No such file" in call(program(name), "check", pool, expect=1)
    junk.write_bytes(b"x" * (8 << 20))
    assert f"{name}: " in call(program(name), "check", junk, expect=1)
    call(program(name), "create", pool)
    other = next(other for other in MAPS if other != name)
    assert "wrong layout" in call(program(other), "check", pool, expect=1)
    assert "--bug" in call(program(name), "run", pool, "--bug", "nonsense", expect=2)
    assert "No such file" in call(program(name), "run", pool, "--ops", tmp_path / "ops", expect=2)


@dataclass(frozen=True, kw_only=True)
class Misuse:
    """A seeded misuse: what to do with keys 1 and 5 in the map, and what must come of it."""

    map: str
    bug: str
    operation: str
    #: The invariant of one finding at least, and a part of its message.
    invariant: str
    says: str
    #: A piece of the source line that some finding names.
    line: str

    @property
    def source(self) -> Path:
        return paths.home() / "targets" / "pmdk" / f"{self.map.removeprefix('pmdk-').replace('-', '_')}.c"


TX, ATOMIC = MAPS
NOT_ALLOCATED = "is no allocated object"
QUICK = (
    # Its store is the first after a jump that Valgrind has followed; it was placed where the jump is.
    Misuse(map=ATOMIC, bug="mark-not-persisted", operation="insert 9 90", invariant="recovery-failed",
           says="counts 2 items and holds 3", line="root->count_uncertain = 1;"),
)  # fmt: skip
LONG = (
    Misuse(map=TX, bug="value-not-flushed", operation="update 1 11", invariant="lost-item",
           says="'1=11' is missing, and there is '1=10'", line="D_RW(entry)->value = value;"),
    Misuse(map=ATOMIC, bug="drain-dropped", operation="update 1 11", invariant="lost-item",
           says="'1=11' is missing, and there is '1=10'", line="*field = value;"),
    Misuse(map=ATOMIC, bug="constructor-not-persisted", operation="insert 9 90", invariant="recovery-failed",
           says="has the label", line="memcpy(entry->label, label, sizeof(label));"),
    Misuse(map=TX, bug="count-not-added", operation="insert 9 90", invariant="recovery-failed",
           says="counts 3 items and holds 2", line="root->count += 1;"),
    Misuse(map=TX, bug="head-added-late", operation="insert 9 90", invariant="recovery-failed",
           says=NOT_ALLOCATED, line="*head = entry;"),
    # The roll-back restores the number of items, and not the link.
    Misuse(map=TX, bug="next-not-added", operation="erase 1", invariant="recovery-failed",
           says="counts 2 items and holds 1", line="*link = D_RO(gone)->next;"),
    Misuse(map=TX, bug="rehash-next-not-added", operation="rehash", invariant="recovery-failed",
           says="counts 2 items and holds 1", line="D_RW(entry)->next = *head;"),
    Misuse(map=TX, bug="persist-dropped", operation="update 1 11", invariant="lost-item",
           says="'1=11' is missing, and there is '1=10'", line="D_RW(entry)->value = value;"),
    Misuse(map=ATOMIC, bug="persist-dropped", operation="update 1 11", invariant="lost-item",
           says="'1=11' is missing, and there is '1=10'", line="*field = value;"),
    Misuse(map=ATOMIC, bug="removed-then-freed", operation="erase 1", invariant="recovery-failed",
           says="is allocated, not reached", line="if (!failed) POBJ_FREE(&entry);"),
    Misuse(map=TX, bug="free-at-once", operation="erase 1", invariant="recovery-failed",
           says=NOT_ALLOCATED, line="POBJ_FREE(&gone);"),
    Misuse(map=ATOMIC, bug="table-swapped-by-hand", operation="rehash", invariant="recovery-failed",
           says="Recovery", line="root->tables[current] = root->tables[1 - current];"),
    Misuse(map=ATOMIC, bug="current-before-moved", operation="rehash", invariant="recovery-failed",
           says="counts 2 items and holds", line="*field = value;"),
)  # fmt: skip


class Explored:
    """A run of one workload, recorded with `powercut record` and explored by the engine."""

    def __init__(self, name: str, folder: Path, operations: str, *, bug: str | None = None, images: int = 4096) -> None:
        pool, ops, trace = folder / "pool", folder / "ops", folder / "run.pct"
        call(program(name), "create", pool)
        ops.write_text("insert 1 10\ninsert 5 50\n")
        call(program(name), "run", pool, "--ops", ops)
        ops.write_text(operations)
        misuse = ["--bug", bug] if bug else []
        run = " ".join(str(word) for word in (program(name), "run", pool, "--ops", ops, *misuse))
        record = ["record", "--record", run, "--pool", pool, "--keep-pool", "--output", trace]
        call(sys.executable, "-m", "powercut", *record)
        commands = []
        for command in ("check", "dump"):
            option = "--recover" if command == "check" else "--dump"
            commands += [option, json.dumps([str(program(name)), command, str(pool)])]
        answer = subprocess.run(
            [paths.engine(), "program", "--trace", trace, *commands, "--images", str(images), "--timeout", "30"],
            capture_output=True, text=True, env=ENVIRONMENT, timeout=1200,
        )  # fmt: skip
        events: list[dict[str, Any]] = [json.loads(line) for line in answer.stdout.splitlines()]
        assert any(event["event"] == "result" for event in events), answer.stdout + answer.stderr
        self.result = next(event for event in events if event["event"] == "result")
        modules = next(event for event in events if event["event"] == "modules")["modules"]
        self.findings = [event for event in events if event["event"] == "finding"]
        self.modules = [Module(path=module["path"]) for module in modules]

    def sites(self) -> set[str]:
        """Where the stores of all findings are, as reports place them."""
        with Symbolizer() as symbolizer:
            frames = [
                site_frame(symbolizer.stack(self.modules, store["stack"]))
                for finding in self.findings
                for store in finding["stores"]
            ]
        return {frame.place for frame in frames if frame}


def assert_found(misuse: Misuse, explored: Explored) -> None:
    assert explored.result["verdict"] == "inconsistent"
    told = [(finding["invariant"], finding["message"]) for finding in explored.findings]
    assert any(kind == misuse.invariant and misuse.says in message for kind, message in told), told
    source = misuse.source.read_text().splitlines()
    lines = {number for number, line in enumerate(source, start=1) if misuse.line in line}
    assert lines, f"{misuse.line} is no line of {misuse.source} any more"
    wanted = {f"targets/pmdk/{misuse.source.name}:{number}" for number in lines}
    sites = explored.sites()
    assert wanted & sites, sites
    # Nothing is blamed on libpmemobj, libpmem or libc: every store is placed in a line of ours.
    assert all(site.startswith("targets/pmdk/") for site in sites), sites


@pytest.mark.long
@pytest.mark.parametrize("misuse", QUICK, ids=lambda m: f"{m.map}-{m.bug}")
def test_misuse_is_found_in_its_line(misuse: Misuse, tmp_path: Path) -> None:
    assert_found(misuse, Explored(misuse.map, tmp_path, misuse.operation, bug=misuse.bug, images=16))


@pytest.mark.long
@pytest.mark.parametrize("misuse", LONG, ids=lambda m: f"{m.map}-{m.bug}")
def test_every_misuse_is_found_in_its_line(misuse: Misuse, tmp_path: Path) -> None:
    assert_found(misuse, Explored(misuse.map, tmp_path, misuse.operation, bug=misuse.bug, images=64))


def test_update_in_a_transaction_is_consistent(tmp_path: Path) -> None:
    explored = Explored(TX, tmp_path, "update 1 11")
    assert (explored.result["verdict"], explored.result["coverage"]["kind"]) == ("consistent", "complete")
    assert int(explored.result["crash_states"]) > 20


@pytest.mark.long
def test_update_by_one_store_is_consistent(tmp_path: Path) -> None:
    explored = Explored(ATOMIC, tmp_path, "update 1 11\nlookup 1")
    assert (explored.result["verdict"], explored.result["coverage"]["kind"]) == ("consistent", "complete")
    assert int(explored.result["crash_states"]) > 10


@pytest.mark.long
@pytest.mark.parametrize("operation", ["insert 9 90", "update 1 11", "erase 1", "erase 5", "rehash"])
@pytest.mark.parametrize("name", MAPS)
def test_maps_are_consistent(name: str, operation: str, tmp_path: Path) -> None:
    # A resize fills a table between two fences: some of its crash points have millions of images.
    sampled = operation == "rehash"
    explored = Explored(name, tmp_path, operation, images=256 if sampled else 65536)
    assert explored.findings == []
    assert explored.result["verdict"] == "consistent"
    assert explored.result["coverage"]["kind"] == ("sampled" if sampled else "complete")


@pytest.mark.long
@pytest.mark.parametrize("name", MAPS)
def test_generated_workload_is_consistent(name: str, tmp_path: Path) -> None:
    operations = "insert 2 20\nupdate 5 51\ninsert 3 30\nerase 1\ninsert 9 90\nlookup 9\ninsert 6 60\nerase 2\n"
    explored = Explored(name, tmp_path, operations, images=64)
    assert explored.findings == []
    assert explored.result["verdict"] == "consistent"
