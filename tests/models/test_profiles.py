"""Profiles of file systems: their files, and what is said of a wrong one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.errors import UsageError
from powercut.models import profiles
from powercut.models.switches import CHOICES

OWN = """
about = "A file system of mine."
like = "ext4"

[replace]
value = "nothing"
source = ["I have seen it."]
"""


def own(tmp_path: Path, text: str = OWN) -> Path:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_main_profiles_come_first_and_the_variants_are_there() -> None:
    assert profiles.names() == [
        *("posix", "ext4", "xfs", "btrfs"),
        *("ext2", "ext4-fast-commit", "ext4-journal", "ext4-noauto", "ext4-writeback", "f2fs"),
    ]


@pytest.mark.parametrize("name", profiles.names())
def test_every_switch_of_a_profile_has_a_value_and_a_source(name: str) -> None:
    profile = profiles.named(name)
    assert set(profile.sources) == set(CHOICES)
    assert profiles.contradiction(profile.switches) is None
    if profile.like:
        base = profiles.named(profile.like)
        assert profile.own, "a profile that is like another one differs from it"
        for switch in set(CHOICES) - profile.own:
            assert getattr(profile.switches, switch) == getattr(base.switches, switch)
            assert profile.sources[switch] == base.sources[switch]
    else:
        assert profile.own == set(CHOICES)


def test_a_profile_of_a_persons_own_differs_where_it_says_so(tmp_path: Path) -> None:
    mine, ext4 = profiles.named(str(own(tmp_path))), profiles.named("ext4")
    assert (mine.name, mine.switches.replace, mine.own) == ("mine", "nothing", {"replace"})
    assert mine.switches.order == ext4.switches.order


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"nothing"', '"none"', "'none' is no value of this switch; use nothing, size, data"),
        ('"nothing"', "3", "value: Input should be a valid string"),
        ("[replace]", "[replase]", "unknown key 'replase'. Did you mean 'replace'?"),
        ("value =", "valeu =", "unknown key 'valeu'. Did you mean 'value'?"),
        ('value = "nothing"\n', "", "the key 'value' is missing"),
        ('source = ["I have seen it."]', "", "the key 'source' is missing"),
        ('["I have seen it."]', "[]", "at least one source"),
        ('["I have seen it."]', '[" "]', "no source is empty"),
        ('about = "A file system of mine."', "", "the key 'about' is missing"),
        ('like = "ext4"', 'like = "ext5"', "there is no profile 'ext5'. Use one of posix, ext4"),
        ('like = "ext4"', "", "the switch 'order' is missing"),
        ("[replace]", "[replace", "malformed TOML"),
        (
            '[replace]\nvalue = "nothing"',
            '[fsync]\nvalue = "names"',
            "fsync = 'names' makes entries durable out of turn",
        ),
        ('[replace]\nvalue = "nothing"', '[order]\nvalue = "any"', "fsync = 'journal' makes a prefix durable"),
    ],
)
def test_a_wrong_file_gets_one_paragraph(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in OWN
    path = own(tmp_path, OWN.replace(old, new))
    with pytest.raises(UsageError) as caught:
        profiles.load(path)
    paragraph = caught.value.paragraph()
    assert complaint in paragraph and str(path) in paragraph and "\n" not in paragraph


def test_a_mistake_is_found_in_its_line(tmp_path: Path) -> None:
    path = own(tmp_path, OWN.replace('"nothing"', '"none"'))
    with pytest.raises(UsageError) as caught:
        profiles.load(path)
    assert caught.value.where == f"{path}:{OWN.splitlines().index('[replace]') + 1}"


def test_a_profile_is_not_like_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, like in (("one", "two"), ("two", "one")):
        (tmp_path / f"{name}.toml").write_text(OWN.replace("ext4", like), encoding="utf-8")
    monkeypatch.setattr(paths, "profile_dir", lambda: tmp_path)
    with pytest.raises(UsageError, match="the profile is like itself"):
        profiles.named("one")


def test_the_page_tells_every_switch_and_every_value() -> None:
    page = (paths.home() / "replayer/media/files/PROFILES.md").read_text(encoding="utf-8")
    told, switch = [], ""
    for row in re.findall(r"^\| (`\w+`)? ?\| `([\w-]+)` \|", page, re.MULTILINE):
        switch = row[0].strip("`") or switch
        told.append((switch, row[1]))
    assert told == [(switch, value) for switch, choice in CHOICES.items() for value in choice.values]
