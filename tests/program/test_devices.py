"""Program mode on a file that is a block device: what is explored are the images that a power cut may leave, no fewer
and no more (`device_reference.py`); and what is not modelled is told by its name."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.program import run as program_run
from tests.program import device_reference as reference
from tests.program.builds import compiled
from tests.program.program_mode import _INCLUDE, Answer, Kv

SOURCE = Path(__file__).parent / "programs" / "device" / "calls.c"
TRACERS = ("llvm", "valgrind")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`calls-llvm`, as `powercut cc` builds it, and `calls-valgrind`, as anybody would."""
    folder = tmp_path_factory.mktemp("programs")
    words = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", SOURCE]
    compiled(folder / "calls-llvm", words)
    compiled(folder / "calls-valgrind", ["-gdwarf-4", *words], traced=False)
    return folder


@dataclass(frozen=True, kw_only=True)
class Calls:
    """A folder in memory, where a sync takes no time, with the test program of one tracer."""

    kv: Kv
    program: Path
    folder: Path

    def judge(self, command: str, *more: str) -> Answer:
        words = ["--record", f"{self.program} {command}", "--device", "device", "--format", "text", "--explain", "0"]
        recover = f"{self.program.with_name('calls-valgrind')} collect device {self.folder}/log"
        return self.kv.cli("run", *words, "--recover", recover, *more, "--json")

    def explored(self, script: list[str], *more: str) -> set[str]:
        """The images of a script that recovery was run on; the run is clean and complete."""
        (self.folder / "script").write_text("".join(f"{line}\n" for line in script))
        answer = self.judge("run script device", *more)
        assert answer.code == 0, answer
        assert (answer.run["verdict"], answer.run["coverage"]["kind"]) == ("consistent", "complete"), answer.run
        return set((self.folder / "log").read_text().split())


@pytest.fixture
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="powercut-test.", dir="/dev/shm"))
    yield made
    shutil.rmtree(made)


@pytest.fixture(params=TRACERS)
def calls(
    request: pytest.FixtureRequest,
    programs: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Calls:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    return Calls(kv=Kv(folder, monkeypatch, capsys), program=programs / f"calls-{request.param}", folder=folder)


def assert_same(explored: set[str], legal: set[str]) -> None:
    assert sorted(explored - legal)[:3] == [], "explored, and not legal"
    assert sorted(legal - explored)[:3] == [], "legal, and not explored"


def test_each_call_writes_syncs_and_changes_the_size_as_it_should(calls: Calls) -> None:
    script = ["pwrite 0 2048 1", "fsync"]
    names = [*reference.WRITES, *reference.DURABLE_WRITES, *(["stdio"] if "valgrind" in calls.program.name else [])]
    for number, name in enumerate(names, 2):
        # Over two sectors, between two that are pending: what is durable when it returns is there beside the second.
        script += [f"pwrite 1536 9 {100 + number}", f"{name} 500 100 {number}", f"pwrite 1100 9 {130 + number}"]
        script.append(reference.SYNCS[number % 4])
    script += ["o_direct 512 512 90", "fsync"]
    for number, name in enumerate(reference.APPENDS, 30):
        script += [f"{name} 0 40 {number}", "fdatasync"]
    script += ["pwrite 100 5 40", "fallocate 0 4000", "fsync", "pwrite 3000 5 41", "posix_fallocate 0 4500", "syncfs"]
    script += ["keep_size 4000 3000", "pwrite 4000 200 42", "punch 600 1000", "pwrite 700 10 43", "sync_file_range"]
    script += ["fsync", "pwrite 2600 30 44", "truncate 2048", "ftruncate 4096", "pwrite 3000 7 45", "sync"]
    script += ["pwrite 10 7 46", "o_trunc", "append 0 9 47", "fsync"]
    assert_same(calls.explored(script), reference.legal_images(script, sector=512, unit=1))


#: How many random programs, of how many sectors, on which device.
RANDOM = [
    pytest.param("llvm", 100, 512, 1, id="llvm"),
    pytest.param("valgrind", 25, 512, 1, id="valgrind"),
    pytest.param("llvm", 20, 512, 4, id="units"),
    pytest.param("llvm", 15, 4096, 1, id="large-sectors"),
    pytest.param("llvm", 300, 512, 4, id="units-long", marks=pytest.mark.long),
    pytest.param("llvm", 300, 4096, 1, id="large-sectors-long", marks=pytest.mark.long),
    *(
        pytest.param(tracer, 1500, 512, unit, id=f"{tracer}-{unit}-long", marks=pytest.mark.long)
        for tracer in TRACERS
        for unit in (1, 2, 8)
    ),
]


def random_script(draw: random.Random, programs: int, sector: int) -> list[str]:
    """Small programs, one behind the other on one file: the first sector says which one runs.

    A label that was synced makes the images of one program others than those of the next one.
    """
    script = []
    for number in range(programs):
        script += [f"pwrite 0 1 {number % 250 + 1}", f"pwrite 1 1 {number // 250 + 1}", "fsync"]
        byte = iter(range(1, 120))
        for _ in range(draw.randint(1, 5)):
            offset = sector + draw.choice([sector * draw.randrange(4), draw.randrange(3 * sector)])
            length = draw.choice([sector, draw.randint(1, 2 * sector), draw.randint(1, 40)])
            kind = draw.random()
            if kind < 0.6:
                script.append(f"{draw.choice(reference.WRITES)} {offset} {length} {next(byte)}")
            elif kind < 0.7:
                script.append(f"{draw.choice(reference.DURABLE_WRITES)} {offset} {length} {next(byte)}")
            elif kind < 0.75:
                script.append(f"{draw.choice(reference.APPENDS)} 0 {min(length, 100)} {next(byte)}")
            elif kind < 0.82:
                script.append(draw.choice(reference.SYNCS[:4]))
            elif kind < 0.88:
                script.append(f"{draw.choice(reference.ALLOCATIONS)} {offset} {length}")
            elif kind < 0.92:
                script.append(f"punch {offset} {length}")
            else:
                script.append(f"{draw.choice(reference.SIZES)} {offset}")
        script.append(draw.choice([f"ftruncate {draw.randint(2, 5) * sector}", "fdatasync"]))
    return script


@pytest.mark.parametrize(("calls", "count", "sector", "unit"), RANDOM, indirect=["calls"])
def test_random_programs_leave_what_a_power_cut_may_leave(calls: Calls, count: int, sector: int, unit: int) -> None:
    script = random_script(random.Random(2026 + unit), count, sector)
    explored = calls.explored(script, "--sector-size", str(sector), "--atomic-unit", str(unit), "--images", "100000")
    assert_same(explored, reference.legal_images(script, sector=sector, unit=unit))


@pytest.mark.parametrize("calls", ["llvm"], indirect=True)
def test_images_that_recovery_cannot_tell_apart_are_not_run(calls: Calls) -> None:
    """Twelve pending sectors, of which a program of the system reads two, or all."""
    script = ["pwrite 0 6656 1", "fsync", *(f"pwrite {512 * sector} 512 7" for sector in range(12)), "fsync"]
    (calls.folder / "script").write_text("".join(f"{line}\n" for line in script))
    words = ["--record", f"{calls.program} run script device", "--device", "device", "--format", "text", "--json"]
    words += ["--explain", "0", "--images", "100", "--jobs", "1"]
    reads = calls.kv.cli("run", *words, "--recover", "head --bytes=1024 device")
    # The writes make 2, 4, … 4,096 images.
    assert int(reads.run["crash_states"]) > 2**12
    assert (reads.code, reads.run["coverage"]["kind"]) == (0, "complete"), reads.run["not_checked"]["notes"]
    assert reads.run["executions"] < 2500
    all_of_it = calls.kv.cli("run", *words, "--recover", "cksum device")
    assert (all_of_it.code, all_of_it.run["coverage"]["kind"]) == (3, "sampled")


#: Recovery's own steps: writes over and across sectors, with a sync between and without one.
RECOVERIES = [
    ["pwrite 0 600 90", "pwrite 1024 512 91", "fsync", "pwrite 700 9 92"],
    pytest.param(
        ["pwrite 1500 30 93", "o_dsync 512 40 94", "pwrite 500 40 95", "ftruncate 1000", "pwrite 900 200 96"],
        marks=pytest.mark.long,
    ),
    pytest.param(
        ["pwritev 100 1200 97", "fdatasync", "truncate 300", "fallocate 0 2000", "writev 0 1100 98"],
        marks=pytest.mark.long,
    ),
]


def _cut_twice(calls: Calls, script: list[str], again: list[str]) -> Answer:
    (calls.folder / "script").write_text("".join(f"{line}\n" for line in script))
    (calls.folder / "again").write_text("".join(f"{line}\n" for line in again))
    recover = f"{calls.program.with_name('calls-valgrind')} again {calls.folder}/again device {calls.folder}/log"
    words = ["--record", f"{calls.program} run script device", "--device", "device", "--recover", recover]
    return calls.kv.cli("run", *words, "--nested", "1", "--explain", "0", "--json")


@pytest.mark.long
@pytest.mark.parametrize("calls", ["llvm"], indirect=True)
@pytest.mark.parametrize("again", RECOVERIES)
def test_cuts_inside_recovery_leave_all_images_that_they_may(calls: Calls, again: list[str]) -> None:
    """On each image that the first cut may leave, recovery's own writes as any program's."""
    script = ["ftruncate 2048", "pwrite 0 512 1", "fsync", "pwrite 0 700 2", "pwrite 1030 9 3"]
    answer = _cut_twice(calls, script, again)
    assert (answer.code, answer.run["coverage"]["nested_complete"]) == (0, True), answer
    legal = reference.legal_images(script, sector=512, unit=1)
    for image in sorted(legal):
        device = reference.left_by(image, sector=512, unit=1)
        for line in again:
            device.call(line)
        legal |= device.images
    assert_same(set((calls.folder / "log").read_text().split()), legal)


@pytest.mark.parametrize("calls", ["llvm"], indirect=True)
def test_a_recovery_that_makes_its_file_longer_is_not_cut_completely(calls: Calls) -> None:
    """An image is no longer than the recorded program has made its file: what lies behind is in none."""
    answer = _cut_twice(calls, ["pwrite 0 512 1", "fsync"], ["append 0 30 2"])
    assert (answer.code, answer.run["coverage"]["nested_complete"]) == (3, False), answer


@pytest.mark.parametrize("calls", ["llvm"], indirect=True)
def test_a_recovery_whose_writes_are_not_recorded_is_not_cut_completely(calls: Calls) -> None:
    (calls.folder / "script").write_text("ftruncate 512\nfsync\npwrite 0 512 1\nfsync\n")
    words = ["--record", f"{calls.program} run script device", "--device", "device", "--nested", "1", "--explain", "0"]
    recover = f"{calls.program.with_name('calls-valgrind')} map device"
    answer = calls.kv.cli("run", *words, "--recover", recover, "--json")
    assert answer.run["coverage"]["nested_complete"] is False, answer
    assert "mmap with MAP_SHARED and PROT_WRITE" in "\n".join(answer.run["not_checked"]["notes"]), answer


@pytest.mark.parametrize("calls", ["llvm"], indirect=True)
@pytest.mark.parametrize("bug", [pytest.param(False, marks=pytest.mark.long), True])
def test_a_recovery_that_takes_its_log_away_too_early_needs_two_cuts(calls: Calls, bug: bool) -> None:
    program = calls.folder / "redo"
    source = SOURCE.with_name("redo.c")
    words = ["-O1", "-gdwarf-4", "-Wall", "-Wextra", "-Werror", f"-DBUG={int(bug)}", _INCLUDE]
    compiled(program, [*words, source], traced=False)
    record = ["--record", "./redo run device", "--device", "device", "--format", "text"]
    commands = ["--recover", "./redo recover device", "--dump", "./redo dump device"]
    assert calls.kv.cli("run", *record, *commands).code == 0
    answer = calls.kv.cli("run", *record, *commands, "--nested", "1", "--explain", "0", "--json")
    assert (answer.code, answer.run["coverage"]["kind"], answer.run["coverage"]["nested_complete"]) == (
        int(bug),
        "complete",
        True,
    )
    assert len(answer.run["findings"]) == (2 if bug else 0)
    for item in answer.run["findings"]:
        nested = json.loads((calls.folder / item["file"]).read_text())["nested_image"][0]
        stores = nested["recovery_stores"]
        assert [store["offset"] for store in stores] == [128, 192, 64]  # the words of sectors 1, 2 and 0
        assert {"write_sector", "apply"} <= {frame["function"] for frame in stores[0]["stack"]}
        assert calls.kv.cli("reproduce", item["file"]).code == 1


def test_a_sync_with_nothing_written_since_and_a_write_without_one_are_told(calls: Calls) -> None:
    script = ["pwrite 0 600 1", "fsync", "fdatasync", "ftruncate 4096", "fsync", "o_dsync 600 9 2", "pwrite 1024 9 3"]
    (calls.folder / "script").write_text("".join(f"{line}\n" for line in script))
    told = {row["kind"]: (row["count"], row["of"]) for row in calls.judge("run script device").run["performance_bugs"]}
    # The third one is for the size of the file. A write through the cache needs none.
    assert told == {"redundant-fence": (1, 1), "never-persisted": (1, 3)}


@pytest.mark.parametrize("calls", ["llvm"], indirect=True)
def test_pruning_by_what_recovery_reads_changes_nothing(calls: Calls) -> None:
    """Sectors that grow the file, and a recovery that wants two of them as the last writes have left them."""
    sizes = [*(f"pwrite {512 * sector} 512 7" for sector in range(5)), "append 0 700 7"]
    (calls.folder / "script").write_text("\n".join(["pwrite 0 2000 1", "fsync", *sizes, "fsync", ""]))
    (calls.folder / "wanted").write_bytes(b"\7" * 700)
    record = ["record", "--record", f"{calls.program} run script device", "--device", "device", "--output", "run.pct"]
    assert calls.kv.cli(*record).code == 0

    def explored(*more: str) -> tuple[dict[str, Any], set[str]]:
        recover = json.dumps(["cmp", "--bytes=700", "{image}", f"{calls.folder}/wanted"])
        words = [str(paths.engine()), "program", "--trace", "run.pct", "--recover", recover, *more]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        findings = {f"{event['invariant']} {event['crash_point']}" for event in events if event["event"] == "finding"}
        return next(event for event in events if event["event"] == "result"), findings

    every, found = explored()
    pruned, found_pruned = explored(*program_run.tracer(), "--native-box", "1")
    assert (every["behaviours"], every["coverage"]["kind"]) == (0, "complete")
    assert pruned["behaviours"] > 2
    assert found == found_pruned != set()
    for name in ("verdict", "crash_points", "crash_states", "coverage"):
        assert every[name] == pruned[name], name


def test_what_is_not_modelled_is_told_by_its_name(calls: Calls) -> None:
    answer = calls.judge("odd device")
    assert (answer.code, answer.run["verdict"], answer.run["findings"]) == (3, "unknown", [])
    told = "\n".join(answer.run["not_checked"]["notes"])
    refused = [
        "mprotect with PROT_WRITE",
        "mmap with MAP_SHARED and PROT_WRITE",
        "io_uring",
        "link",
        "rename",
        "unlink",
    ]
    # Valgrind sees what the C library does for these.
    refused += ["aio_write", "fopen for writing"] if "llvm" in calls.program.name else []
    for name in refused:
        assert f"the program used {name}" in told, name


def test_what_a_child_writes_is_noticed(calls: Calls) -> None:
    answer = calls.judge("child device")
    assert (answer.code, answer.run["verdict"]) == (3, "unknown")
    assert "bytes 600 to 604 of" in "\n".join(answer.run["not_checked"]["notes"])
