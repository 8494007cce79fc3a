"""`powercut run --files` is killed at random moments, and afterwards nothing is left of it.

The victim is the command, its engine, or all processes of its group. No process, no mount, no crash image, no temporary
file and no half of a recording stays. The user's folder has its bytes, names, modes and times.
"""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.interruptible import interruptible
from tests.program.program_mode import CLI, environment
from tests.program.test_program_kills import MARK, SHARED, mark_of, running, wait_until
from tests.real_engine import require_engine

FAST_KILLS, LONG_KILLS = 6, 100
#: Seconds of a run that finds nothing, on a machine without other work.
SHORT = 0.8

#: A shell script, so that a run is short: it saves its settings by a rename, with a sync or without one.
SCRIPT = """
case $1 in
make) mkdir "$2/by-setup" ;;
run) for colour in red blue; do
        echo "colour = $colour" > "$2/settings.tmp"
        mv "$2/settings.tmp" "$2/settings"
        echo "saved $colour"
    done ;;
once) echo "colour = red" > "$2/settings.tmp"
    sync "$2/settings.tmp"
    mv "$2/settings.tmp" "$2/settings" ;;
show) [ ! -e "$2/settings" ] || grep '^colour = ' "$2/settings" ;;
esac
"""
COMMANDS = "--record 'sh save run data' --recover 'sh save show data' --dump 'sh save show data' --ack ^saved"
SETUP = "--setup 'sh save make data'"
CLEAN = "--record 'sh save once data' --recover 'sh save show data'"
#: The first two find nothing, so they explain nothing and are short.
WAYS = {
    "clean": CLEAN,
    "clean-setup": f"{CLEAN} {SETUP}",
    "plain": COMMANDS,
    "nested": f"{COMMANDS} --nested 1",
    "setup": f"{COMMANDS} {SETUP}",
}
VICTIMS = ("command", "engine", "group")

Tree = dict[str, tuple[object, ...]]


@dataclass
class House:
    """A folder with the program, the user's data, and a place for temporary files."""

    folder: Path
    #: Where crash images are made: other runs make theirs beside it.
    work: Path
    number: int = 0
    #: Seconds of an undisturbed run, for each way.
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def mark(self) -> str:
        return f"{self.folder}/{self.number}"

    def start(self, way: str) -> subprocess.Popen[str]:
        self.number += 1
        variables = environment() | {MARK: self.mark, "TMPDIR": str(self.temporary), "POWERCUT_WORK": str(self.work)}
        words = ["run", "--files", "data", *shlex.split(WAYS[way]), "--format", "text", "--jobs", "1", "--explain", "1"]
        return subprocess.Popen(
            [*CLI, *words],
            cwd=self.folder,
            env=variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=interruptible,
        )

    def undisturbed(self, way: str) -> float:
        """Seconds of a run, which finds the bug where there is one."""
        begun = time.monotonic()
        process = self.start(way)
        out, err = process.communicate(timeout=300)
        assert process.returncode == (0 if way.startswith("clean") else 1) and "consistent" in out, out + err
        self.clear()
        return time.monotonic() - begun

    def duration(self, way: str) -> float:
        if way not in self.seconds:
            self.seconds[way] = self.undisturbed(way)
        return self.seconds[way]

    def tree(self) -> Tree:
        """All of the user's folder: kinds and modes, identities, times and bytes."""
        data = self.folder / "data"
        found: Tree = {}
        for path in (data, *sorted(data.rglob("*"))):
            status = path.lstat()
            what = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else ""
            found[str(path.relative_to(data))] = (status.st_mode, status.st_ino, status.st_mtime_ns, what)
        return found

    def left(self) -> list[Path]:
        """Files that should be gone when the processes are."""
        known = {"data", "save", "tmp", ".powercut"}
        beside = [path for path in self.folder.iterdir() if path.name not in known]
        halves = [path for name in (".record.*", ".explore.*") for path in self.folder.rglob(name)]
        return [*beside, *halves, *self.temporary.iterdir(), *self.work.iterdir()]

    def mounts(self) -> list[str]:
        """Mounts that name the folder, in any namespace of a process."""
        found: set[str] = set()
        for pid, _ in running():
            with suppress(OSError):
                lines = Path(f"/proc/{pid}/mounts").read_text(errors="replace").splitlines()
                found.update(line for line in lines if str(self.folder) in line)
        return sorted(found)

    def processes(self) -> list[tuple[int, str]]:
        return [(pid, line) for pid, line in running() if mark_of(pid) == self.mark]

    def engine(self) -> int | None:
        """The process of an engine that is no guard of another one, where there is one now."""
        for pid, line in self.processes():
            with suppress(OSError):
                name = Path(f"/proc/{pid}/comm").read_text().strip()
                if "powercut-engine" in line.split(" ")[0] and name.startswith("powercut-engine"[:15]):
                    return pid
        return None

    def clear(self) -> None:
        """The remains of a run are not held against the next one."""
        shutil.rmtree(self.folder / ".powercut", ignore_errors=True)
        for folder in (self.temporary, self.work):
            shutil.rmtree(folder)
            folder.mkdir()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    require_engine()
    with tempfile.TemporaryDirectory(prefix="kills-", dir=SHARED) as work:
        yield made(House(tmp_path_factory.mktemp("kills"), Path(work)))


def made(out: House) -> House:
    out.temporary.mkdir()
    (out.folder / "save").write_text(SCRIPT)
    data = out.folder / "data"
    (data / "inner").mkdir(parents=True)
    (data / "settings").write_text("colour = green\n")
    os.link(data / "settings", data / "inner" / "other name")
    (data / "link").symlink_to("settings")
    data.chmod(0o750)
    for path in (data / "settings", data / "inner", data):
        os.utime(path, ns=(10**18, 10**18 + 123456789))
    return out


def kill(house: House, drawn: random.Random, way: str) -> tuple[str, list[str]]:
    """One run that is killed: how, and what is wrong afterwards."""
    victim = drawn.choice(VICTIMS)
    moment = drawn.uniform(0, 1.05 * house.duration(way))
    before = house.tree()
    process = house.start(way)
    time.sleep(moment)
    killed = {"command": process.pid, "group": process.pid, "engine": house.engine()}[victim]
    if killed is not None:
        with suppress(ProcessLookupError):
            (os.killpg if victim == "group" else os.kill)(killed, signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    wrong = afterwards(house, before)
    if process.returncode not in (-signal.SIGKILL, 0, 1, 3) or "Traceback" in err:
        wrong.append(err)
    house.clear()
    return f"{way}, {victim} killed after {moment:.2f} s, ended with {process.returncode}", wrong


def afterwards(house: House, before: Tree) -> list[str]:
    """The faults of a run that has ended; `before` is the user's folder as it was."""
    wrong = []
    if not wait_until(lambda: not house.processes()):
        wrong.append(f"these go on: {house.processes()}")
    wrong += [f"{path} is left" for path in house.left()]
    wrong += [f"{mount} is mounted" for mount in house.mounts()]
    if (now := house.tree()) != before:
        wrong.append(f"the folder is another one: {now.items() ^ before.items()}")
    return wrong


def kills(house: House, drawn: random.Random, ways: Iterable[str]) -> None:
    """Kills a run of each of the ways."""
    wrong = []
    for way in ways:
        how, left = kill(house, drawn, way)
        print(how, *left, sep="; ", flush=True)
        wrong += [f"{how}: {text}" for text in left]
    assert wrong == [], "\n".join(wrong)


@pytest.mark.slow
def test_nothing_is_left_of_a_run_on_a_folder_that_is_killed(house: House) -> None:
    house.seconds = dict.fromkeys(WAYS, SHORT)  # nobody measures: the moments lie in the first part of a run then
    kills(house, random.Random(2026), ["clean", "clean-setup"] * (FAST_KILLS // 2))


@pytest.mark.long
def test_nothing_is_left_of_many_runs_on_a_folder_that_are_killed(house: House) -> None:
    """A run afterwards finds the bug, as one before."""
    house.seconds = {}
    drawn = random.Random(2027)
    kills(house, drawn, drawn.choices(list(WAYS), k=LONG_KILLS))
    house.undisturbed("plain")
