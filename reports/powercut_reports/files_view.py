"""The finding of a folder, for people: calls with their fates, and the trees around the power cut beside each other.

Calls stand in the order in which they took effect. Long runs of calls whose changes were durable are one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from powercut_records.files import (
    DURABLE,
    LOST,
    ON_DISK,
    PARTLY,
    Confirmed,
    FileCall,
    FilesFinding,
    InnerCut,
    Tree,
    TreePath,
)
from powercut_records.finding import FindingRecord
from powercut_records.run import RunRecord
from powercut_reports import format as fmt
from powercut_reports import story
from powercut_reports.bugs import bugs

#: The fate of a call, in words.
FATES = {ON_DISK: "on disk", LOST: "lost", PARTLY: "partly", DURABLE: "durable"}
#: The trees in the order of time, with their headings.
TREES = (
    ("visible", "as the program saw it"),
    ("met", "as recovery met it"),
    ("left", "as recovery left it"),
)
ABSENT = "absent"


@dataclass(frozen=True)
class CallRow:
    """A call or a mark; or, where `left_out` is not 0, so many calls that are not told."""

    call: FileCall
    left_out: int = 0

    @property
    def number(self) -> str:
        return fmt.grouped(self.call.call) if self.call.call else ""

    @property
    def fate(self) -> str:
        """The fate in words; empty for a mark."""
        return FATES.get(self.call.fate, self.call.fate) if self.call.call else ""

    @property
    def text(self) -> str:
        return self.call.text


def call_rows(files: FilesFinding) -> tuple[CallRow, ...]:
    """The rows of the calls before the cut."""
    told = sorted([*files.calls, *files.around], key=lambda call: (call.call or call.behind, not call.call))
    rows: list[CallRow] = []
    last = 0
    for call in told:
        if call.call:
            if call.call > last + 1:
                count = call.call - last - 1
                what = "that decided nothing" if files.left_out else "whose changes were durable"
                rows.append(CallRow(FileCall(text=f"{fmt.plural(count, 'call')} {what}"), count))
            last = call.call
        rows.append(CallRow(call))
    return tuple(rows)


def inner_heading(inner: InnerCut) -> str:
    """ "Recovery, cut again before its call 3" """
    if inner.life > 1:
        own = (
            f"the first {fmt.grouped(inner.of_recovery)} calls are recovery's"
            if inner.of_recovery
            else "no call is recovery's"
        )
        return f"Second life, cut {inner.side} its call {fmt.grouped(inner.call)}; {own}"
    return f"Recovery, cut again {inner.side} its call {fmt.grouped(inner.call)}"


@dataclass(frozen=True)
class PathRow:
    """One path in the three trees, in the order of `TREES`; None: it is absent."""

    path: str
    cells: tuple[TreePath | None, ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The cells, in words; a file of the size of the first one says where it has other bytes."""
        said = [cell_words(cell) for cell in self.cells]
        contents = [cell.digest if cell else "" for cell in self.cells]
        first = next((text for text in contents if text), "")
        return tuple(
            f"{words}, other bytes" if other and other != first and words == said[contents.index(first)] else words
            for words, other in zip(said, contents, strict=True)
        )


def cell_words(cell: TreePath | None) -> str:
    """ "24 bytes", "folder", "link to db.1" """
    if cell is None:
        return ABSENT
    if cell.kind == "file":
        zeroes = cell.size and cell.head and not cell.head.strip("0")
        return fmt.plural(cell.size, "byte") + (", zeroes" if zeroes else "")
    if cell.kind == "link":
        return f"link to {cell.target}"
    return "cannot be read" if cell.kind == "bad" else cell.kind


def path_rows(files: FilesFinding) -> tuple[PathRow, ...]:
    """The paths in which the trees differ."""
    trees: list[Tree] = [getattr(files, name) for name, _ in TREES]
    found: list[dict[str, TreePath]] = [{path.path: path for path in tree.paths} for tree in trees]
    paths = sorted({path for each in found for path in each})
    return tuple(PathRow(path, tuple(each.get(path) for each in found)) for path in paths)


def others(files: FilesFinding) -> str:
    """Says how many paths are the same in all trees; empty where there are none."""
    count = files.met.others
    return f"{fmt.plural(count, 'other path')} {'is' if count == 1 else 'are'} the same in all three." if count else ""


def legal_under(files: FilesFinding) -> str:
    """ "ext4 and xfs; another tree shows it under btrfs" """
    words = story.joined(list(files.profiles)) if files.profiles else "no file system that was asked for"
    return f"{words}; another tree shows it under {story.joined(list(files.also))}" if files.also else words


def confirmed_words(answer: Confirmed) -> str:
    """ "Reproduced on ext4, Linux 6.18, image 212 of 212, in 3 runs." """
    words = str(answer)
    return f"{words[0].upper()}{words[1:]}."


@dataclass(frozen=True)
class ProfileRow:
    profile: str
    verdict: str
    coverage: str
    crash_points: str
    states: str
    bugs: str
    reason: str

    @property
    def cells(self) -> tuple[str, ...]:
        """The row without its reason."""
        words = f"{self.verdict}, {self.coverage}" if self.coverage else self.verdict
        return self.profile, words, self.crash_points, self.states, self.bugs


PROFILE_TITLES = ("file system", "verdict", "crash points", "crash states", "bugs")


def profile_rows(run: RunRecord) -> tuple[ProfileRow, ...]:
    """The verdict under each file system."""
    found = []
    for row in run.profiles:
        own: Sequence[FindingRecord] = [f for f in run.findings if f.files and row.profile in f.files.under]
        covered = "" if row.verdict == "unknown" else "complete" if row.complete else "not complete"
        found.append(
            ProfileRow(
                profile=row.profile,
                verdict=row.verdict,
                coverage=covered,
                crash_points=fmt.grouped(row.crash_points),
                states=fmt.count_with_magnitude(row.crash_states) if row.crash_states else "not counted",
                bugs=fmt.grouped(len(bugs(own))),
                reason=row.reason,
            )
        )
    return tuple(found)
