"""The litmus tests of files under every profile, and profiles that are broken on purpose."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.litmus import litmus
from powercut.models import profiles
from powercut.models.switches import CHOICES
from replayer.media.files.language import LanguageError, Reader, expand, program
from replayer.media.files.litmus import FOLDER, MAIN, load

TESTS = load()
NAMES = profiles.names()

GOOD = """
[[test]]
name = "t"
source = "An argument."
start = "a=A"
program = "append a X"
[test.allowed]
all = ["a={A,AX}"]
"""


def test_the_suite_has_what_it_promises() -> None:
    assert len(TESTS) >= 80
    assert all(test.source for test in TESTS)
    topics = {path.stem for path in FOLDER.glob("*.toml")}
    assert topics >= {"overwrite", "append", "create", "rename", "truncate", "directories", "fsync", "fdatasync"}
    assert topics >= {"sync_file_range", "links", "allocate", "msync"}
    named = {name for test in TESTS for name in test.allowed}
    assert named <= {*NAMES, "all"}, "a set for a profile that is none"


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_leaves_exactly_the_allowed_trees(name: str) -> None:
    profile = profiles.named(name)
    assert [fault for test in TESTS if (fault := test.fault(profile))] == []


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"f2fs"}))
def test_profiles_are_told_apart(name: str) -> None:
    """F2FS has the switches of posix: its documentation promises no more."""
    profile = profiles.named(name)
    for other in set(NAMES) - {name, "f2fs"}:
        assert any(test.of(profile) != test.of(profiles.named(other)) for test in TESTS), other


@pytest.mark.parametrize(
    ("name", "broken", "noticed_by"),
    [
        ("ext4", {"fsync": "file"}, "create-write-fsync"),
        ("ext4", {"order": "any", "fsync": "names", "fdatasync": "new-name", "fsync_folder": "entries"}, "rename-two"),
        ("ext4", {"replace": "nothing"}, "rename-over-unsynced"),
        ("btrfs", {"rename": "atomic"}, "rename-across-fsync-new-folder"),
    ],
)
def test_a_profile_that_is_broken_on_purpose_fails(name: str, broken: dict[str, str], noticed_by: str) -> None:
    profile = profiles.named(name)
    switches = replace(profile.switches, **broken)
    assert noticed_by in [test.name for test in TESTS if test.fault(profile, switches)]


@pytest.mark.parametrize("name", MAIN)
def test_every_other_value_of_a_switch_is_noticed(name: str) -> None:
    """Values that contradict another switch are left out. In a journal's one order a rename is whole anyway."""
    profile = profiles.named(name)
    for switch, choice in CHOICES.items():
        for value in set(choice.values) - {getattr(profile.switches, switch)}:
            switches = replace(profile.switches, **{switch: value})
            if profiles.contradiction(switches) or (switch == "rename" and switches.order == "one"):
                continue
            assert any(test.fault(profile, switches) for test in TESTS), f"{switch} = {value}"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('name = "t"', 'nam = "t"', "unknown key nam"),
        ('source = "An argument."\n', "", "'source' is missing"),
        ("append a X", "append b X", "there is no b"),
        ("append a X", "fly a", "no such call"),
        ("append a X", "append a", "no such call"),
        ("append a X", "append a x", "is no content"),
        ("append a X", "creat a", "a is there already"),
        ("append a X", "allocate a 0 1 collapse", "is no mode of fallocate"),
        ("append a X", "append a X twice", "cannot read"),
        ('"append a X"', '"""\ncrash\ncrash\n"""', "two crashes"),
        ("a={A,AX}", "a={A,A}", "distinct"),
        ("a={A,AX}", "a={A,AX", "a brace without"),
        ("a={A,AX}", "a=A}", "a brace without"),
        ("a={A,AX}", "a=x", "is no content"),
        ("a={A,AX}", "a", "is no name of a tree"),
        ("all =", "posix =", "of each of posix"),
        ("all =", '"posix all posix" =', "has two sets"),
        ('["a={A,AX}"]', "[]", "at least one"),
    ],
)
def test_a_malformed_test_is_refused(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    (tmp_path / "t.toml").write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(ValueError, match=r"^t\.toml, t") as caught:
        load(tmp_path)
    assert complaint in str(caught.value)


def test_powercut_litmus_judges_files_by_engine_and_reference() -> None:
    assert litmus.check_files([str(paths.engine())]) == ([], len(TESTS))


def test_powercut_litmus_tells_what_failed() -> None:
    answers = [json.dumps({"tests": 2, "faults": [["t", f"wrong under {name}"]]}) for name in NAMES]
    liar = [sys.executable, "-c", "import sys; print(*sys.argv[1:], sep='\\n')", *answers]
    failures, count = litmus.check_files([], liar)
    assert count == 2
    assert [failure.judge for failure in failures] == ["engine"] * len(NAMES) + ["reference"] * len(NAMES)
    assert {failure.message for failure in failures} == {f"wrong under {name}" for name in NAMES}


def test_no_two_tests_have_one_name(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(GOOD + GOOD, encoding="utf-8")
    with pytest.raises(ValueError, match="two tests have the name 't'"):
        load(tmp_path)


def test_a_wrong_set_fails_in_both_directions(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(GOOD.replace("{A,AX}", "{A,AY}"), encoding="utf-8")
    (test,) = load(tmp_path)
    assert test.fault(profiles.named("xfs")) == "t under xfs: legal but missed: a=AY; left but illegal: a=AX"


def test_patterns_are_products_and_braces_nest() -> None:
    assert expand("b={-,X} {a=Y,}") == ["a=Y b=-", "b=-", "a=Y b=X", "b=X"]
    assert expand("a={-,{0,X}{0,Y}}") == ["a=-", "a=00", "a=0Y", "a=X0", "a=XY"]
    assert expand("{d/ {d/a=-,},}") == ["d/ d/a=-", "d/", "."]


def test_a_line_names_its_inode_by_any_path() -> None:
    calls, cut = program("a=AB d/", ["link a d/b", "append d/b X dsync", "crash during", "unlink a", "pwrite d/b 0 Y"])
    write = next(call for call in calls if call.op == "write")
    assert (write.inode, write.offset, write.data, write.through) == (2, 2, b"X", "data")
    assert calls[-1].inode == 2 and cut == 6  # two inodes, two entries, the link and the write itself
    with pytest.raises(LanguageError):
        Reader().call("unlink a")
