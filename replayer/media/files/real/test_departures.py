"""A departure explains what was seen, and nothing beyond."""

from __future__ import annotations

import pytest

from powercut.models import profiles
from replayer.media.files.language import program

from .departures import BTRFS_NAMES, XFS_SYNC, Departure, trees_at_instants
from .rig import start_of


@pytest.mark.parametrize(
    ("name", "departure", "start", "lines", "seen", "never"),
    [
        ("xfs", XFS_SYNC, "a=A", ["pwrite a 0 X", "creat b", "sync"], "a=A b=-", "a=X"),
        ("xfs", XFS_SYNC, "a=A b=B", ["pwrite a 0 X", "append b Y", "sync"], "a=A b=BY", "a=X b=B"),
        ("btrfs", BTRFS_NAMES, "t=T", ["creat b", "fsync t", "rename t a"], "a=T", "b=-"),
        ("btrfs", BTRFS_NAMES, "d/", ["creat b", "tmpfile t", "fsync t", "linkat t a"], "a=- d/", "b=-"),
    ],
)
def test_a_departure_has_what_was_seen(
    name: str, departure: Departure, start: str, lines: list[str], seen: str, never: str
) -> None:
    switches, (calls, _) = profiles.named(name).switches, program(start, lines)
    begin = start_of(calls)
    profile = trees_at_instants(calls[:begin], calls[begin:], 1, switches)
    departed = departure.trees(calls[:begin], calls[begin:], 1, switches)
    assert all(ours <= theirs for ours, theirs in zip(profile, departed, strict=True))
    assert seen in departed[-1] and seen not in profile[-1]
    assert never not in departed[-1]
    assert departed[:-1] == profile[:-1], "the last call alone brings more"


def test_a_name_of_a_file_that_no_sync_touched_does_not_overtake() -> None:
    calls, _ = program("t=T", ["creat b", "rename t a"])
    switches = profiles.named("btrfs").switches
    assert BTRFS_NAMES.trees(calls[:2], calls[2:], 1, switches) == trees_at_instants(calls[:2], calls[2:], 1, switches)
