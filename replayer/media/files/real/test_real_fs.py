"""Profiles against the file systems of the running kernel. `make test-real-fs` runs all; the fast tests run a few.

README.md says how the rig is made. A test is skipped where root, FUSE, loop devices or a file system is missing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.real_fs.kernel import attached
from powercut.real_fs.systems import SYSTEMS, daemon

from . import page
from .guarded_rig import GuardedRig
from .rig import Job, Result
from .whole_run import MAIN, Effort, complaints, run_all

SHORT = ("rename-over-unsynced", "create-write-fsync", "rename-across-fsync-new-folder")
SECONDS_TO_CLEAR_UP = 15
#: PAGE=docs/file-systems.md of `make test-real-fs`.
PAGE = "POWERCUT_REAL_FS_PAGE"


def needed(system: str) -> None:
    reason = SYSTEMS[system].missing()
    if reason:
        pytest.skip(reason)


@pytest.mark.parametrize("system", MAIN)
def test_a_few_programs_leave_no_tree_outside_of_the_profile(system: str) -> None:
    needed(system)
    with GuardedRig(system) as rig:
        results = [rig.run(Job(test=test, recordings=1, images=6)) for test in SHORT]
    assert [each for result in results for each in result.outside] == []
    # Each program leaves at least two trees: a rig that sees fewer has a disk that never loses anything.
    assert all(result.images for result in results) and sum(result.seen for result in results) > len(SHORT)


def test_a_profile_that_is_too_strong_fails() -> None:
    too_strong("ext4", {"replace": "data"}, "rename-over-unsynced-two-sectors")


@pytest.mark.long
@pytest.mark.parametrize(
    ("system", "switches", "test"),
    [
        ("ext4", {"size": "all"}, "create-and-write-two-sectors"),
        ("xfs", {"replace": "data"}, "rename-over-unsynced-two-sectors"),
        ("btrfs", {"rename": "atomic"}, "rename-across-fsync-new-folder"),
        ("btrfs", {"size": "all"}, "create-and-write-two-sectors"),
        ("btrfs", {"overwrite": "call"}, "overwrite-one-call-two-sectors"),
        ("btrfs", {"replace": "size"}, "rename-over-unsynced-two-sectors"),
    ],
)
def test_every_profile_that_is_too_strong_fails(system: str, switches: dict[str, str], test: str) -> None:
    too_strong(system, switches, test)


def too_strong(system: str, switches: dict[str, str], test: str) -> None:
    """The rig sees a tree outside of what such a profile allows, and none outside of the true one."""
    needed(system)
    with GuardedRig(system) as rig:
        assert _until(lambda draw: rig.run(Job(test=test, images=12, draw=draw, switches=switches)).outside)
        assert rig.run(Job(test=test, images=12)).outside == []


def _until(look: Callable[[int], object]) -> bool:
    """Whether one of many draws shows what is looked for: the kernel's write-back is no function of a seed."""
    return any(look(draw) for draw in range(40))


@pytest.fixture
def many_jobs(tmp_path: Path) -> subprocess.Popen[str]:
    """A process that runs a rig for minutes, and says when it has begun."""
    needed("ext4")
    script = (
        "from replayer.media.files.real.guarded_rig import GuardedRig\n"
        "from replayer.media.files.real.rig import Job\n"
        "with GuardedRig('ext4') as rig:\n"
        "    rig.run(Job(seed=1, recordings=1, images=1))\n"
        "    print(rig.folder, rig.process.pid, flush=True)\n"
        "    rig.run(Job(seed=1, recordings=100000, images=9))\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=paths.home()
    )


@pytest.mark.parametrize("killed", ["the tests", "the disk"])
def test_nothing_is_left_of_a_rig_that_was_killed(many_jobs: subprocess.Popen[str], killed: str) -> None:
    assert many_jobs.stdout
    folder, guardian = many_jobs.stdout.readline().split()
    time.sleep(0.3)  # in the middle of a recording, or of an image
    disk = _disk_of(Path(folder))
    assert attached(Path(folder).name)
    os.kill(many_jobs.pid if killed == "the tests" else disk, signal.SIGKILL)
    many_jobs.wait(SECONDS_TO_CLEAR_UP)
    many_jobs.stdout.close()
    end = time.monotonic() + SECONDS_TO_CLEAR_UP
    while Path(f"/proc/{guardian}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{guardian}").exists(), "the guardian did not end"
    assert not Path(folder).exists() and not attached(Path(folder).name)
    assert not Path(f"/proc/{disk}").exists()
    assert folder not in Path("/proc/self/mountinfo").read_text(encoding="utf-8")


def _disk_of(folder: Path) -> int:
    """The process that serves the disk of a rig."""
    for process in Path("/proc").glob("[0-9]*"):
        words = (process / "cmdline").read_bytes().split(b"\0") if process.is_dir() else []
        if words[:2] == [bytes(daemon()), bytes(folder / "disk")]:
            return int(process.name)
    raise AssertionError("no process serves the disk")


@pytest.mark.long
def test_real_file_systems_agree_with_their_profiles() -> None:
    """All litmus tests, and 200 random programs."""
    reasons = {name: reason for name in MAIN if (reason := SYSTEMS[name].missing())}
    here = [name for name in MAIN if name not in reasons]
    if not here:
        pytest.skip(next(iter(reasons.values())))
    runs = run_all(here, Effort())
    if os.environ.get(PAGE):
        Path(os.environ[PAGE]).write_text(page.text_of(runs), encoding="utf-8")
    assert [complaint for run in runs for complaint in complaints(run)] == []
    for run in runs:
        assert run.images > 5000 and run.seen * 2 > run.legal, f"{run.system}: too little was seen to tell anything"
    if reasons:
        pytest.skip(next(iter(reasons.values())))


def test_a_page_tells_what_was_outside() -> None:
    """The page's numbers come from the results; a tree outside is never hidden."""
    text = page.text_of([page.example()])
    assert "| `append-one-sector` | 2 of 3 |" in text and "**1**" in text


def test_results_travel_as_json() -> None:
    assert Result(**Result("a", images=2).to_json()) == Result("a", images=2)
