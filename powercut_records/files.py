"""The part of a finding that a recorded folder has: calls and their fates, and the trees around the power cut."""

from __future__ import annotations

from typing import Literal

from powercut_records.base import Name, Record, Text

#: Fates of calls that changed something which was not durable, and of all others.
ON_DISK, LOST, PARTLY, DURABLE = "on-disk", "lost", "partly", "durable"


class TreePath(Record):
    """One path of a tree. `head` has up to 256 bytes of a file in hex, from `head_offset` on."""

    path: Text = ""
    kind: Text = "file"  # file, folder, link or bad
    size: int = 0
    target: Text = ""
    head: Text = ""
    head_offset: int = 0
    digest: Text = ""


class Tree(Record):
    """The paths in which the three trees of a finding differ; all others are counted."""

    paths: list[TreePath] = []
    others: int = 0


class FileCall(Record):
    """A call before the cut, or a mark."""

    call: int = 0  # its number, as 'powercut view' counts; 0 of a mark
    behind: int = 0  # of a mark: the number of the call that it stands behind
    fate: Text = DURABLE
    decisive: bool = False
    thread: int = 0
    text: Text = ""  # as strace prints it
    site: Name = ""  # the line that made it; empty where nobody knows


class RecoveryCall(Record):
    """A call of recovery before the cut inside it."""

    call: int = 0  # its number among recovery's calls
    text: Text = ""
    fate: Text = DURABLE
    decisive: bool = False


class InnerCut(Record):
    """A second cut. Recovery, and in a second life the continuation, ran on a tree of the first cut. The commands ran
    again on what the second cut left."""

    side: Text = "before"
    call: int = 0  # of recovery, or of the continuation behind it
    life: int = 1  # 2: the continuation was cut, and recovery had ended
    of_recovery: int = 0  # how many of the calls recovery made; the others are the continuation's
    calls: list[RecoveryCall] = []


class FilesFinding(Record):
    profiles: list[Text] = []  # asked-for profiles under which the tree is legal
    also: list[Text] = []  # others under which another tree shows the same finding
    side: Text = "before"  # before, during or after the call
    call: int = 0
    life: int = 1  # 2: it shows in the second life, behind the continuation
    calls: list[FileCall] = []  # those whose changes were not durable
    left_out: int = 0  # further ones, none of them decisive
    around: list[FileCall] = []  # some durable calls, and marks
    sentence: Text = ""  # which change reached the disk, and which did not
    met: Tree = Tree()  # as recovery met it
    visible: Tree = Tree()  # as the program saw it
    left: Tree = Tree()  # as recovery left it
    inner: InnerCut | None = None  # a second cut, inside recovery
    fails: bool = True  # false: --fail-on names none of its profiles

    @property
    def under(self) -> list[str]:
        """The profiles that have the finding, by this tree or another one."""
        return [*self.profiles, *self.also]


class Confirmed(Record):
    """A finding, looked for on a real file system."""

    system: Text = ""
    kernel: Text = ""  # "Linux 6.18"
    reproduced: bool = False
    image: int = 0  # the number of the image that failed in the same way; 0: none did
    images: int = 0  # that were mounted
    runs: int = 0  # of the program
    seconds: float = 0.0

    def __str__(self) -> str:
        runs = f"{self.runs:,} run{'' if self.runs == 1 else 's'}"
        images = f"{self.images:,} image{'' if self.images == 1 else 's'}"
        if self.reproduced:
            return f"reproduced on {self.system}, {self.kernel}, image {self.image:,} of {self.images:,}, in {runs}"
        return f"not reproduced in {runs} ({images}) on {self.system}, {self.kernel}"


class ProfileVerdict(Record):
    """The verdict under one profile."""

    profile: Text = ""
    verdict: Literal["inconsistent", "unknown", "consistent"] = "unknown"
    complete: bool = False
    crash_points: int = 0
    crash_states: Name = ""  # empty: nobody has counted
    covered: Name = ""
    findings: int = 0
    reason: Name = ""
