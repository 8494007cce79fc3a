"""Programs that keep data beside the file that program mode judges: no image holds it, so there is no verdict where
recovery looks at it; and whatever a run does to such files, the user has them back."""

from __future__ import annotations

import hashlib
import html
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.program.builds import compiled
from tests.program.program_mode import CLI, Answer, Kv, environment

SOURCE = Path(__file__).parent / "programs" / "beside" / "store.c"
TRACERS = ("llvm", "valgrind")
DEPENDS = "looks at files that the recorded program has changed and that no image holds: "


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`store-llvm`, as `powercut cc` builds it; `store-valgrind` and `store-static`, as anybody would."""
    folder = tmp_path_factory.mktemp("programs")
    words = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", SOURCE]
    compiled(folder / "store-llvm", words)
    for kind, flags in (("valgrind", []), ("static", ["-static"])):
        compiled(folder / f"store-{kind}", ["-gdwarf-4", *words, *flags], traced=False)
    return folder


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A folder with the data of a store, under the folder in which the commands run."""

    kv: Kv
    program: Path

    @property
    def data(self) -> Path:
        return self.kv.folder / "data"

    def judge(self, way: str, *more: str, side: str = "", recovery: str = "") -> Answer:
        record = f"{self.program} {way} run data/db {side}"
        recover = f"{recovery or self.program} {way} check {{image}} {side}"
        medium = "--pool" if way.startswith("pool") else "--device"
        words = ["--record", record, "--recover", recover, medium, "data/db", "--format", "text,html", "--explain", "0"]
        return self.kv.cli("run", *words, *more, "--json")


@pytest.fixture(params=TRACERS)
def beside(
    request: pytest.FixtureRequest,
    programs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Beside:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    return Beside(kv=Kv(tmp_path, monkeypatch, capsys), program=programs / f"store-{request.param}")


def tree(folder: Path) -> dict[str, str]:
    """The contents of the folder: mode and contents of each file."""
    found = {}
    for path in sorted(folder.rglob("*")):
        what = os.readlink(path) if path.is_symlink() else path.read_bytes().hex() if path.is_file() else "folder"
        found[str(path.relative_to(folder))] = f"{path.lstat().st_mode:o} {hashlib.sha256(what.encode()).hexdigest()}"
    return found


def assert_depends(answer: Answer, *files: Path | str) -> None:
    """There is no verdict and no finding, and the report names the files."""
    run = answer.run
    assert (answer.code, run["verdict"], run["findings"]) == (3, "unknown", []), answer
    assert run["coverage"]["kind"] == "sampled"
    assert any(DEPENDS + ", ".join(map(str, files)) in note for note in run["not_checked"]["notes"]), run["not_checked"]


def assert_points_to(answer: Answer, option: str) -> None:
    """One sentence of the reports names the option that judges the files as well."""
    notes = [note for note in answer.run["not_checked"]["notes"] if "--files" in note]
    assert len(notes) == 1 and option in notes[0], notes
    assert option in html.unescape(Path(".powercut/report.html").read_text())


@pytest.mark.parametrize("way", ["journal", "journal-buggy", "wal", "wal-buggy"])
def test_a_database_whose_journal_is_another_file_has_no_verdict(beside: Beside, way: str) -> None:
    """The journal is removed when it is done with: that recovery does not find it is what the whole run has left."""
    before = tree(beside.data)
    answer = beside.judge(way)
    assert_depends(answer, beside.data / "db-side")
    assert_points_to(answer, f"powercut judges them together with --files {beside.data}, in the place of --device")
    assert tree(beside.data) == before


@pytest.mark.parametrize("way", ["folder", "folder-buggy"])
def test_a_log_of_a_folder_has_no_verdict_and_the_folder_is_as_it_was(beside: Beside, way: str) -> None:
    """Recovery opens CURRENT by its own path, and tidies up in the real folder."""
    (beside.data / "CURRENT").write_bytes(b"\x01")
    (beside.data / "CURRENT").chmod(0o640)
    (beside.data / "LINK").symlink_to("CURRENT")
    (beside.data / "old").mkdir()
    before = tree(beside.data)
    assert_depends(beside.judge(way, side="data/CURRENT"), beside.data / "CURRENT")
    assert tree(beside.data) == before


@pytest.mark.parametrize("way", ["thread", "child", "pool-beside"])
def test_a_file_is_seen_whoever_has_changed_it(beside: Beside, way: str) -> None:
    assert_depends(beside.judge(way), beside.data / "db-side")


def test_a_recovery_that_is_linked_statically_is_seen(beside: Beside) -> None:
    answer = beside.judge("wal", recovery=str(beside.program.with_name("store-static")))
    assert_depends(answer, beside.data / "db-side")


@pytest.mark.parametrize("way", ["single", "pool"])
def test_a_program_with_one_file_stays_complete(beside: Beside, way: str) -> None:
    answer = beside.judge(way)
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (0, "consistent", "complete")
    assert not any("other files" in note for note in answer.run["not_checked"]["notes"])


def test_a_file_that_no_command_looks_at_is_told(beside: Beside) -> None:
    """A program that keeps its index in the file and its data beside it, and a check of the index alone."""
    record = f"sh -c 'echo more > data/more; exec {beside.program} single run data/db'"
    recover = f"{beside.program} single check {{image}}"
    words = ["--record", record, "--recover", recover, "--device", "data/db", "--format", "text,html", "--json"]
    words += ["--tracer", "llvm" if beside.program.name.endswith("llvm") else "valgrind"]
    answer = beside.kv.cli("run", *words)
    assert (answer.code, answer.run["verdict"]) == (0, "consistent")
    assert_points_to(
        answer,
        f"which no image holds and no command looked at: {beside.data}/more. If they are data, powercut judges them "
        f"with --files {beside.data}, in the place of --device",
    )


def test_a_bug_of_a_program_with_one_file_is_found(beside: Beside) -> None:
    answer = beside.judge("single-buggy")
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (1, "inconsistent", "complete")


def test_a_log_that_both_only_add_to_needs_no_verdict_of_its_own(beside: Beside) -> None:
    before = tree(beside.data)
    answer = beside.judge("log", side="data/log")
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (0, "consistent", "complete")
    assert any(str(beside.data / "log") in sentence for sentence in answer.run["assumptions"])
    assert tree(beside.data) == before


def test_a_lock_that_nobody_writes_to_needs_none_either(beside: Beside) -> None:
    (beside.data / "LOCK").touch()
    time.sleep(0.1)  # it was made some time ago
    answer = beside.judge("lock", side="data/LOCK")
    assert (answer.code, answer.run["verdict"], answer.run["coverage"]["kind"]) == (0, "consistent", "complete")


@pytest.mark.parametrize("tool", ["touch", "mkdir", "ln -s db", "rm -f"])
def test_a_list_of_the_folder_depends_on_names(beside: Beside, tool: str) -> None:
    (beside.data / "old").touch()
    change = f"{tool} data/{'old' if tool.startswith('rm') else 'new'}"
    record = f"sh -c '{change}; exec {beside.program} single run data/db'"
    recover = f"sh -c 'ls data >/dev/null; exec {beside.program} single check {{image}}'"
    words = ["--record", record, "--recover", recover, "--device", "data/db", "--explain", "0", "--format", "text"]
    words += ["--tracer", "llvm" if beside.program.name.endswith("llvm") else "valgrind"]
    before = tree(beside.data)
    assert_depends(beside.kv.cli("run", *words, "--json"), f"the names in {beside.data}")
    assert tree(beside.data) == before


def test_what_the_program_makes_in_the_folder_of_the_commands_stays(beside: Beside) -> None:
    """It may be a log that the user wants to read; what bears the pool's name is data."""
    record = f"sh -c 'echo more > other; echo more > db-more; exec {beside.program} single run db'"
    words = ["--record", record, "--recover", f"{beside.program} single check {{image}}", "--device", "db"]
    words += ["--tracer", "llvm" if beside.program.name.endswith("llvm") else "valgrind", "--format", "text"]
    answer = beside.kv.cli("run", *words)
    assert answer.code == 0
    assert "--files DIR, where DIR is a folder that holds all of them and nothing else" in " ".join(answer.out.split())
    assert (beside.kv.folder / "other").read_text() == "more\n"
    assert not (beside.kv.folder / "db-more").exists()


def test_data_in_the_folder_of_the_commands_comes_back_and_logs_stay(beside: Beside) -> None:
    """As in a folder of LevelDB that is the working folder: CURRENT is renamed over, and an old table removed."""
    folder = beside.kv.folder
    (folder / "CURRENT").write_bytes(b"\x01")
    (folder / "old").write_text("old\n")
    (folder / "log").write_text("before\n")
    change = "rm -f old; echo more >> log; echo x > CURRENT.new; mv CURRENT.new CURRENT"
    record = f"sh -c '{change}; exec {beside.program} single run db'"
    recover = f"sh -c '{change}; exec {beside.program} single check {{image}}'"
    words = ["--record", record, "--recover", recover, "--device", "db", "--format", "text", "--explain", "0"]
    words += ["--tracer", "llvm" if beside.program.name.endswith("llvm") else "valgrind"]
    assert_depends(beside.kv.cli("run", *words, "--json"), folder / "CURRENT", folder / "old")
    assert ((folder / "CURRENT").read_bytes(), (folder / "old").read_text()) == (b"\x01", "old\n")
    assert (folder / "log").read_text().startswith("before\nmore\n")


def test_what_recovery_writes_beside_the_data_is_undone(beside: Beside) -> None:
    """Elsewhere it may write what the user wants to read."""
    seen = beside.data / "seen"
    seen.write_text("before\n")
    write = "echo more >> data/seen; mkdir -p data/made/by; echo more > log"
    recover = f"sh -c '{write}; exec {beside.program} single check {{image}}'"
    words = ["--record", f"{beside.program} single run data/db", "--recover", recover, "--device", "data/db"]
    assert beside.kv.cli("run", *words, "--format", "text").code == 0
    assert seen.read_text() == "before\n"
    assert not (beside.data / "made").exists()
    assert (beside.kv.folder / "log").read_text() == "more\n"


@pytest.mark.parametrize("setup", ["", "sh -c 'head -c 4096 /dev/zero > data/db'"])
@pytest.mark.parametrize("way", ["map", "rename"])
def test_a_device_that_is_mapped_or_renamed_over_is_refused_by_name(beside: Beside, way: str, setup: str) -> None:
    named = {"map": "mmap with MAP_SHARED and PROT_WRITE", "rename": "rename"}[way]
    before = tree(beside.data)
    answer = beside.judge(way, *(["--setup", setup] if setup else []))
    assert answer.code in (2, 3)
    said = answer.out + answer.err
    assert f"the program used {named} on the device {beside.data / 'db'}, which is not modelled" in said
    assert "never wrote" not in said
    assert tree(beside.data) == before


@pytest.mark.parametrize("mode", ["DELETE", pytest.param("WAL", marks=pytest.mark.long)])
def test_sqlite_beside_its_journal_has_no_verdict(mode: str, tmp_path: Path, kv_of: Callable[[Path], Kv]) -> None:
    """The real one: its recovery looks for a rollback journal, or for a write-ahead log."""
    kv = kv_of(tmp_path)
    (tmp_path / "use.py").write_text(SQLITE)
    python = f"{shutil.which('python3')} -B use.py"
    words = ["--setup", f"{python} make {mode} t.db", "--record", f"{python} run {mode} t.db"]
    words += ["--recover", f"{python} check {mode} t.db", "--device", "t.db", "--timeout", "30s", "--format", "text"]
    answer = kv.cli("run", *words, "--explain", "0", "--json")
    assert (answer.code, answer.run["verdict"]) == (3, "unknown"), answer
    assert any(f"{DEPENDS}{tmp_path}/t.db-" in note for note in answer.run["not_checked"]["notes"])


SQLITE = """
import sqlite3, sys
what, mode, path = sys.argv[1:]
base = sqlite3.connect(path, isolation_level=None)
base.execute(f"PRAGMA journal_mode={mode}")
base.execute("PRAGMA synchronous=FULL")
if what == "make":
    base.execute("CREATE TABLE t (k INTEGER PRIMARY KEY, v TEXT)")
if what == "run":
    base.execute("INSERT INTO t VALUES (1, 'one')")
    base.execute("INSERT INTO t VALUES (2, 'two')")
if what == "check":
    assert base.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
"""


@pytest.fixture
def kv_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[[Path], Kv]:
    def made(folder: Path) -> Kv:
        monkeypatch.chdir(folder)
        return Kv(folder, monkeypatch, capsys)

    return made


@pytest.mark.parametrize("phase", ["record", "recover"])
def test_after_kill_9_the_folder_is_as_it_was(programs: Path, tmp_path: Path, phase: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "CURRENT").write_bytes(b"\x01")
    before = tree(data)
    wait = f"touch {tmp_path}/reached; sleep 60"
    store = f"{programs}/store-valgrind"
    record, recover = f"{store} single run data/db", f"{store} single check {{image}}"
    if phase == "record":
        record = f"sh -c '{store} folder run data/db data/CURRENT; {wait}'"
    else:
        recover = f"sh -c '{recover}; echo x > data/CURRENT; mv data/CURRENT data/moved; {wait}'"
    words = [
        "--record",
        record,
        "--recover",
        recover,
        "--device",
        "data/db",
        "--timeout",
        "90s",
        "--tracer",
        "valgrind",
    ]
    run = subprocess.Popen(
        [*CLI, "run", *words], cwd=tmp_path, env=environment(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    until = time.monotonic() + 60
    while not (tmp_path / "reached").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert (tmp_path / "reached").exists()
    run.send_signal(signal.SIGKILL)
    run.wait()
    while tree(data) != before and time.monotonic() < until:
        time.sleep(0.1)
    assert tree(data) == before
