"""The edit test of renames: functions and files of a built target get other names, and its findings stay known."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from tests.real_engine import require_engine
from tests.symbols.test_edited_sources import Sources

pytestmark = pytest.mark.slow

SCENARIOS = ["self_test/lost_item", "self_test/torn_value"]
#: The functions of these two bugs.
FUNCTIONS = ("SetState", "UpdateInPlace")


def replaced(sources: Sources, pattern: str, by: str) -> None:
    for file in sorted((sources.folder / "targets" / "patterns").glob("*.[ch]*")):
        file.write_text(re.sub(pattern, by, file.read_text()))


def rename_functions(sources: Sources) -> None:
    for name in FUNCTIONS:
        replaced(sources, rf"\b{name}\b", f"{name}Anew")


def rename_file(sources: Sources) -> None:
    folder = sources.folder / "targets" / "patterns"
    (folder / "map.cc").rename(folder / "atlas.cc")


def rename_both(sources: Sources) -> None:
    rename_functions(sources)
    rename_file(sources)


def rename_and_edit_another_line(sources: Sources) -> None:
    rename_functions(sources)
    file = sources.folder / "targets" / "patterns" / "map.cc"
    text = file.read_text()
    for name in FUNCTIONS:
        begin = text.index("{", text.index(f"Map::{name}Anew(")) + 1
        text = f"{text[:begin]}\n  [[maybe_unused]] const int more = 1;{text[begin:]}"
    file.write_text(text)


RENAMES: list[Callable[[Sources], None]] = [rename_functions, rename_file, rename_both, rename_and_edit_another_line]


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The baseline of the sources as they are."""
    require_engine()
    folder = tmp_path_factory.mktemp("known")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        sources = Sources("patterns", Path("sources").absolute(), chosen=SCENARIOS)
        sources.build()
        sources.run(folder / "out")
        assert main(["baseline", "update", "base.json", "--out", "out"]) == ExitCode.CLEAN
    return folder


@pytest.mark.parametrize("rename", RENAMES)
def test_a_rename_in_built_code_leaves_findings_known(
    rename: Callable[[Sources], None], known: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    base = (known / "base.json").read_text()
    assert base.count('"fingerprint"') == len(SCENARIOS)
    Path("base.json").write_text(base)
    sources = Sources("patterns", Path("sources").absolute(), chosen=SCENARIOS)
    rename(sources)
    sources.build()
    sources.run(tmp_path / "out", "--baseline", "base.json", "--format", "json,markdown,github")
    told = json.loads((tmp_path / "out" / "report.json").read_text())["baseline"]
    assert (told["new"], told["known"], told["fixed"]) == (0, len(SCENARIOS), [])
    assert (
        f"Baseline base.json: 0 new, {len(SCENARIOS)} known, 0 fixed" in (tmp_path / "out" / "summary.md").read_text()
    )
