"""The litmus tests of files: reads `litmus/<topic>.toml`, and judges the reference by them.

`LITMUS.md` beside this file is the format. A profile that a test does not name has the set of the profile that it is
like, and else the set of `all`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from powercut.base.user_files import parse_toml, text_of
from powercut.models.profiles import Profile
from powercut.models.switches import Switches

from . import language
from .calls import Call, CallError, split_all
from .reference import trees_after
from .trees import Tree

FOLDER = Path(__file__).parent / "litmus"
KEYS = {"name", "source", "start", "page", "program", "allowed"}
MAIN = ("posix", "ext4", "xfs", "btrfs")


class Judge(Protocol):
    """The legal trees after some effects of calls."""

    def __call__(
        self, effects: Sequence[Call], switches: Switches, /, *, sector: int, page: int
    ) -> frozenset[Tree]: ...  # pragma: no cover


@dataclass(frozen=True, slots=True)
class LitmusTest:
    name: str
    source: str
    page: int  # sectors
    calls: tuple[Call, ...]  # the whole program, behind the calls that make the tree at the start
    cut: int  # effects of calls before the power fails
    allowed: Mapping[str, frozenset[str]]  # by the name of a profile, or `all`

    def of(self, profile: Profile) -> frozenset[str]:
        """The exact set under a profile."""
        names = (profile.name, profile.like or profile.name, "all")
        return next(self.allowed[name] for name in names if name in self.allowed)

    def left(self, switches: Switches, judge: Judge = trees_after) -> frozenset[str]:
        """The trees that the power cut leaves, as the judge says."""
        effects = split_all(self.calls)[: self.cut]
        trees = judge(effects, switches, sector=language.SECTOR, page=self.page)
        return frozenset(language.text_of(tree) for tree in trees)

    def fault(self, profile: Profile, switches: Switches | None = None, judge: Judge = trees_after) -> str | None:
        """Why the judge is wrong, or None. `switches` replaces those of the profile (tests pass broken ones)."""
        expected, left = self.of(profile), self.left(switches or profile.switches, judge)
        parts = [f"legal but missed: {tree}" for tree in sorted(expected - left)]
        parts += [f"left but illegal: {tree}" for tree in sorted(left - expected)]
        return f"{self.name} under {profile.name}: {'; '.join(parts)}" if parts else None


def load(folder: Path = FOLDER) -> list[LitmusTest]:
    """Every test of the folder. ValueError for a wrong file, which names the file and the test."""
    tests = [test for path in sorted(folder.glob("*.toml")) for test in parse(path)]
    twice = [name for name, count in Counter(test.name for test in tests).items() if count > 1]
    if twice:
        raise ValueError(f"{folder}: two tests have the name '{twice[0]}'. Rename one of them.")
    return tests


def parse(path: Path) -> list[LitmusTest]:
    tests: list[LitmusTest] = []
    for record in parse_toml(text_of(path)).get("test", []):
        where = f"{path.name}, {record.get('name', f'test {len(tests) + 1}')}"
        try:
            tests.append(_build(record))
        except KeyError as error:
            raise ValueError(f"{where}: the key {error} is missing. The format is in LITMUS.md.") from error
        except (ValueError, CallError) as error:
            raise ValueError(f"{where}: {error}") from error
    return tests


def _build(record: Mapping[str, Any]) -> LitmusTest:
    if unknown := set(record) - KEYS:
        raise ValueError(f"unknown key {sorted(unknown)[0]}; known are {', '.join(sorted(KEYS))}.")
    lines = [" ".join(line.split()) for line in record["program"].splitlines() if line.strip()]
    calls, cut = language.program(record.get("start", ""), lines)
    allowed: dict[str, frozenset[str]] = {}
    for names, patterns in record["allowed"].items():
        trees = [tree for pattern in patterns for tree in language.expand(pattern)]
        if len(set(trees)) != len(trees) or not trees:
            raise ValueError(f"allowed, {names}: trees are distinct, and there is at least one.")
        for name in names.split():
            if name in allowed:
                raise ValueError(f"allowed: {name} has two sets.")
            allowed[name] = frozenset(trees)
    if "all" not in allowed and not set(allowed) >= set(MAIN):
        raise ValueError(f"allowed: give the set of all, or of each of {', '.join(MAIN)}.")
    source = " ".join(record["source"].split())
    return LitmusTest(record["name"], source, record.get("page", 1), tuple(calls), cut, allowed)
