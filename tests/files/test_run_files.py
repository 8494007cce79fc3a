"""`powercut run --files`: small programs that forget a sync, and their twins that do not, from end to end."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from powercut.cli.main import main
from tests.files.engine_by_brute_force import stand_in
from tests.real_engine import require_engine

SAVE = """
import os, sys
folder, synced = sys.argv[1], sys.argv[2:]
for number in range(2):
    with open(f"{folder}/db.tmp", "w") as file:
        file.write(f"value {number}\\n" * 3)
        file.flush()
        if "file" in synced:
            os.fsync(file.fileno())
    os.rename(f"{folder}/db.tmp", f"{folder}/db")
    if "folder" in synced:
        handle = os.open(folder, os.O_RDONLY)
        os.fsync(handle)
        os.close(handle)
    print("saved", number, flush=True)
"""
LOAD = """
import os, sys
path = f"{sys.argv[1]}/db"
if os.path.exists(path):
    lines = open(path, "rb").read().split(b"\\n")
    if len(lines) != 4 or len(set(lines[:3])) != 1 or not lines[0].startswith(b"value "):
        sys.exit(f"db is damaged: {lines}")
    print(lines[0].decode())
"""
LOAD_C = r"""
#include <stdio.h>
int main(int argc, char** argv) {
  char path[256];
  snprintf(path, sizeof path, "%s/db", argv[1]);
  FILE* file = fopen(path, "r");
  int value;
  if (!file) return 0;
  if (fscanf(file, "value %d\n", &value) != 1) return fprintf(stderr, "db is damaged\n"), 1;
  printf("%d\n", value);
  return 0;
}
"""
SAVE_C = r"""
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char** argv) {
  char from[256], to[256];
  snprintf(from, sizeof from, "%s/db.tmp", argv[1]);
  snprintf(to, sizeof to, "%s/db", argv[1]);
  int file = open(from, O_CREAT | O_WRONLY, 0644);
  if (write(file, "value 1\n", 8) != 8) return 1;
  close(file);
  return rename(from, to);
}
"""


@pytest.fixture(autouse=True, params=["engine", pytest.param("brute force", marks=pytest.mark.long)])
def folder(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """The user's folder. The verdicts are those of the engine, and those of all legal trees."""
    require_engine()
    monkeypatch.chdir(tmp_path)
    if request.param == "brute force":
        monkeypatch.setenv("POWERCUT_ENGINE", str(stand_in(tmp_path_factory.mktemp("engine"))))
    (tmp_path / "save.py").write_text(SAVE)
    (tmp_path / "load.py").write_text(LOAD)
    made = tmp_path / "data"
    made.mkdir()
    (made / "mine").write_bytes(b"mine")
    return made


def python(script: str, *words: str) -> str:
    return shlex.join([sys.executable, "-S", script, "data", *words])


def run(*words: str, expected: int, synced: tuple[str, ...] = ()) -> dict[str, Any]:
    """The record of a run that ends with this exit status."""
    commands = ["--record", python("save.py", *synced), "--recover", python("load.py")]
    given = list(words) if "--record" in words else [*commands, *words]
    assert main(["run", "--files", "data", *given]) == expected
    (file,) = Path(".powercut/runs").glob("*.json")
    made: dict[str, Any] = json.loads(file.read_text())
    return made


def verdicts(record: dict[str, Any]) -> dict[str, tuple[str, bool]]:
    return {row["profile"]: (row["verdict"], row["complete"]) for row in record["profiles"]}


def test_a_rename_without_a_sync_is_found_with_the_calls_to_blame_and_a_fix(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = folder.stat().st_ino
    record = run("--fs", "ext4,posix", expected=1)
    assert verdicts(record) == {"ext4": ("inconsistent", True), "posix": ("inconsistent", True)}
    told = [
        finding
        for finding in record["findings"]
        if finding["files"]["sentence"].startswith('rename("db.tmp" -> "db")')
        and "ext4" in finding["files"]["profiles"]
    ]
    assert told, [finding["files"]["sentence"] for finding in record["findings"]]
    assert 'the data of "db.tmp"' in told[0]["files"]["sentence"]
    assert 'Add fsync of "db.tmp" before the rename: tried, consistent under ext4, posix.' in capfd.readouterr().out
    assert folder.stat().st_ino == before
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_a_file_that_is_emptied_and_written_again_is_told_to_be_written_elsewhere(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    record = run(
        *("--record", "sh -c 'echo two > data/mine; sync data/mine'", "--fs", "ext4"),
        *("--recover", "grep -qE 'mine|two' {image}/mine"),
        expected=1,
    )
    calls = [call for finding in record["findings"] for call in finding["files"]["calls"]]
    assert {call["text"] for call in calls if call["decisive"]} == {
        'openat("mine", O_TRUNC)',
        'write("mine", 4 bytes at 0)',
    }
    printed = " ".join(capfd.readouterr().out.split())
    assert 'Let the rewrite of "mine" go through another file: tried, consistent under ext4.' in printed
    (folder / "mine").write_bytes(b"mine")


def test_a_disk_may_write_larger_blocks_as_a_whole(folder: Path) -> None:
    """One write of 4,096 bytes is torn on a disk with sectors of 512 bytes."""
    letters = "head -c 4096 /dev/zero | tr '\\0' {} | dd of=data/letters bs=4096 conv=notrunc status=none"
    commands = ("--setup", f'sh -c "{letters.format("a")}"', "--record", f'sh -c "{letters.format("b")}"')
    judged = (*commands, "--recover", "sh -c 'test $(fold -w 1 {image}/letters | uniq | wc -l) = 1'", "--fs", "ext4")
    record = run(*judged, expected=1)
    assert record["crash_states"] == "256"
    shutil.rmtree(".powercut")
    record = run(*judged, "--sector-size", "4096", expected=0)
    assert record["crash_states"] == "2"
    assert "the disk writes each block of 4096 bytes as a whole or not at all (--sector-size)" in record["assumptions"]


def test_the_twin_that_syncs_is_clean_and_complete(folder: Path) -> None:
    record = run(expected=0, synced=("file",))
    assert verdicts(record) == dict.fromkeys(("ext4", "xfs", "btrfs"), ("consistent", True))
    assert record["coverage"]["kind"] == "complete" and record["findings"] == []


def test_an_acknowledged_save_that_is_gone_is_a_lost_item(folder: Path) -> None:
    words = ("--dump", python("load.py"), "--ack", "^saved", "--fs", "ext4")
    record = run(*words, expected=1, synced=("file",))
    assert {finding["invariant"] for finding in record["findings"]} == {"lost-item"}
    shutil.rmtree(".powercut")
    record = run(*words, expected=0, synced=("file", "folder"))
    assert record["coverage"]["acknowledged"] is True


def test_a_finding_is_reproduced_and_a_trace_explored_again(folder: Path) -> None:
    record = run("--fs", "ext4", expected=1)
    (finding, *_) = record["findings"]
    assert main(["reproduce", finding["file"]]) == 1
    words = ["--recover", python("load.py"), "--fs", "ext4", "--out", "again", "--name", "save.py"]
    assert main(["explore", record["trace"], *words]) == 1
    (again,) = Path("again/runs").glob("*.json")
    found = {item["fingerprint"] for item in json.loads(again.read_text())["findings"]}
    assert found == {item["fingerprint"] for item in record["findings"]}


def test_the_file_system_that_counts_decides_the_exit_status(folder: Path) -> None:
    """A journal keeps two folders in their order; posix promises nothing of the kind."""
    words = ["--record", "mkdir data/a data/b", "--recover", "sh -c 'test ! -d $0/b || test -d $0/a' data"]
    record = run(*words, "--fs", "ext4,posix", "--fail-on", "ext4", "--explain", "0", expected=0)
    assert verdicts(record) == {"ext4": ("consistent", True), "posix": ("inconsistent", True)}
    (finding,) = record["findings"]
    assert finding["files"]["sentence"] == 'The name "b" (call 2) reached the disk, the name "a" (call 1) did not.'
    assert main(["report", ".powercut", "--fail-on", "any"]) == 1


def test_a_program_in_c_has_its_lines(folder: Path, tmp_path: Path) -> None:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang-19")
    assert compiler, "a C compiler is missing"
    for name, source in (("save", SAVE_C), ("load", LOAD_C)):
        (tmp_path / f"{name}.c").write_text(source)
        subprocess.run([compiler, "-g", "-o", name, f"{name}.c"], check=True)
    record = run("--record", "./save data", "--recover", "./load data", "--fs", "ext4", expected=1)
    lines = SAVE_C.splitlines()
    write, rename = (next(n for n, line in enumerate(lines, 1) if word in line) for word in ("write(file", "rename("))
    sites = {finding["lost_site"]: finding["store_site"] for finding in record["findings"]}
    assert sites.get(f"save.c:{write}") == f"save.c:{rename}", sites


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--files", "save.py"], "--files save.py: this is a file, and no folder"),
        (["--files", "."], "the folder of the commands lies in the folder that is judged"),
        (["--files", "data", "--fs", "ext5"], "unknown profile 'ext5'. Did you mean 'ext4'"),
        (["--files", "data", "--fs", ","], "--fs: no file system was named"),
        (["--files", "data", "--pool", "x"], "--pool has no use for a folder"),
        (["--files", "data", "--keep-pool"], "--keep-pool has no use for a folder"),
        (["--files", "data", "--fail-on", "zfs"], "unknown kind 'zfs'"),
        (["--files", "data", "--out", "data/out"], "the output lies in the folder that is judged"),
        (["--files", "data", "--tracer", "pin"], "the tracer 'pin' records no folder"),
        (["--pool", "x", "--fs", "ext4"], "file systems are for a folder, and here is none"),
    ],
)
def test_wrong_words_are_told_in_a_sentence(
    folder: Path, words: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *words, "--record", python("save.py"), "--recover", "true"]) == 2
    assert said in capfd.readouterr().err
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_a_recovery_is_needed_and_must_accept_what_the_program_left(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--files", "data", "--record", python("save.py")]) == 2
    assert "--recover: a recorded program needs a command that recovers" in capfd.readouterr().err
    assert main(["run", "--files", "data", "--recover", "true"]) == 2
    assert "a folder needs a command to record" in capfd.readouterr().err
    assert main(["run", "--files", "data", "--record", python("save.py"), "--recover", "false"]) == 2
    assert "this does not accept the folder as the program left it" in capfd.readouterr().err
    assert os.listdir("data") == ["mine"]
