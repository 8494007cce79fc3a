"""The edit test: a line above each finding of three targets, or other white space, leaves every finding known.

A comment above the code used to make a baseline say "7 new, 7 fixed".
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from powercut.scenarios import catalog, toml_text
from tests.real_engine import require_engine

pytestmark = pytest.mark.slow

#: Planted bugs of three targets, by their scenarios.
CASES = {
    "patterns": [
        f"self_test/{name}" for name in ("lost_item", "torn_value", "structure", "wild_store", "not_idempotent")
    ],
    "level": [
        f"known_bugs/level/{name}"
        for name in ("update-token-first", "undo-log-unordered", "move-token-first", "log-free-update-two-writes")
    ],
    "pfht": [f"known_bugs/pfht/{name}" for name in ("insert-token-first", "log-unordered", "move-clear-first")],
}


class Sources:
    """The sources of a target in a folder of their own, and runs of what `build` has built from them."""

    def __init__(self, name: str, folder: Path, *, chosen: Sequence[str] = ()) -> None:
        home = paths.home()
        self.name, self.folder = name, folder
        for part in ("common", name):
            shutil.copytree(home / "targets" / part, folder / "targets" / part)
        self.library = folder / f"libpowercut-{name}.so"
        self.scenarios = [str(self._planted(scenario)) for scenario in chosen or CASES[name]]

    def _planted(self, name: str) -> Path:
        """The scenario with its bug as a setting, under a name of its own: a known bug is run by its own command."""
        (item,) = catalog.matching(name)
        toggle = item.bug.toggle
        config = {"bug": toggle, **item.content.config}
        planted = item.content.model_copy(update={"name": toggle, "config": config, "known_bug": None})
        copy = self.folder / f"{toggle}.toml"
        copy.write_text(toml_text.render(planted))
        return copy

    def build(self) -> None:
        """Compiles all sources through the pass."""
        sources = sorted((self.folder / "targets" / self.name).glob("*.cc"))
        files = [str(file) for file in sources if not file.name.endswith("_test.cc")]
        include = [f"-I{self.folder}", f"-I{paths.home() / 'targets' / 'include'}"]
        options = ["-std=c++20", "-O2", "-shared", "-fPIC", "-o", str(self.library)]
        assert main(["c++", *options, *include, *files]) == ExitCode.CLEAN

    def run(self, out: Path, *arguments: str) -> list[dict[str, Any]]:
        """The run records."""
        chosen = [word for file in self.scenarios for word in ("--scenario", file)]
        found = ["--explain", "0", "--no-canary", "--format", "json", "--out", str(out)]
        code = main(["run", f"{self.library}:hardened", *chosen, *found, *arguments])
        assert code in (ExitCode.CLEAN, ExitCode.FINDINGS)
        return [json.loads(file.read_text()) for file in sorted((out / "runs").glob("*.json"))]

    def edit(self, edit: Any) -> int:
        """Edits all files of the target and of what targets share; returns how many held a finding."""
        return sum(edit(file) for file in sorted((self.folder / "targets").glob("*/*.[ch]*")))


def places(runs: list[dict[str, Any]]) -> dict[str, set[int]]:
    """The lines of all decisive stores and faults, by file name."""
    found: dict[str, set[int]] = {}
    for finding in (finding for run in runs for finding in run["findings"]):
        stores = [store for store in finding["stores"] if store["decisive"]]
        for site in [item["site"] for item in [*stores, *([finding["fault"]] if finding["fault"] else [])]]:
            file, _, line = (site or "").rpartition(":")
            if line.isdecimal():
                found.setdefault(Path(file).name, set()).add(int(line))
    return found


@pytest.mark.parametrize(
    "name", ["patterns", *(pytest.param(name, marks=pytest.mark.long) for name in CASES if name != "patterns")]
)
def test_an_edit_beside_findings_leaves_them_known(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_engine()
    monkeypatch.chdir(tmp_path)
    sources = Sources(name, tmp_path / "sources")
    sources.build()
    runs = sources.run(tmp_path / "before")
    sites = places(runs)
    count = sum(len(run["findings"]) for run in runs)
    assert count > 0
    assert sites
    assert main(["baseline", "update", "base.json", "--out", str(tmp_path / "before")]) == ExitCode.CLEAN

    def comment(file: Path) -> bool:
        lines = file.read_text().splitlines(keepends=True)
        for line in sorted(sites.get(file.name, ()), reverse=True):
            lines.insert(line - 1, "  // A comment; with a { brace.\n")
        file.write_text("".join(lines))
        return file.name in sites

    def reformat(file: Path) -> None:
        """An assignment on two lines, and other indentation, where no string, comment or directive is."""
        if file.parent.name != name:  # the headers that targets share have macros of several lines
            return
        lines = file.read_text().splitlines(keepends=True)
        plain = [not re.search(r'["\\#]|//', line) for line in lines]
        file.write_text("".join(
            re.sub(r"(?<=[\w\])]) = (?=\S)", "\n      =   ", f"  {line}") if fits else line
            for line, fits in zip(lines, plain, strict=True)
        ))  # fmt: skip

    def edit(file: Path) -> bool:
        held = comment(file)
        reformat(file)
        return held

    # Both edits at once, since each build takes seconds: a finding that either of them hides is told as fixed.
    assert sources.edit(edit) == len(sites)
    sources.build()
    again = sources.run(tmp_path / "after", "--baseline", "base.json")
    told = json.loads((tmp_path / "after" / "report.json").read_text())["baseline"]
    assert (told["new"], told["known"], told["fixed"]) == (0, count, [])
    assert places(again) != sites  # the lines did move
