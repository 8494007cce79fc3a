"""docs/add-a-scheme.md: its scheme is built from the page, is clean, and its planted bug is found."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from tests.real_engine import require_engine

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "add-a-scheme.md"


def blocks(language: str) -> list[str]:
    page = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, flags=re.DOTALL | re.MULTILINE)


def block(language: str) -> str:
    return blocks(language)[0]


def test_what_it_shows_of_a_device_compiles(tmp_path: Path) -> None:
    require_engine()
    _, device = blocks("cpp")
    source = tmp_path / "device.cc"
    source.write_text(device, encoding="utf-8")
    include = f"-I{paths.home() / 'targets' / 'include'}"
    command = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-O2", "-c", str(source), include]
    assert main([*command, "-o", str(tmp_path / "device.o")]) == ExitCode.CLEAN


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_engine()
    folder = tmp_path_factory.mktemp("probing")
    source, built = folder / "target.cc", folder / "libpowercut-probing.so"
    source.write_text(block("cpp"), encoding="utf-8")
    (folder / "scenario.toml").write_text(block("toml"), encoding="utf-8")
    command = block("sh").splitlines()[0].split()
    assert command[0] == "powercut"
    home = paths.home()
    given = [str(built) if word == built.name else str(source) if word == source.name else word for word in command[1:]]
    assert main([*given, f"-I{home}", f"-I{home / 'targets' / 'include'}"]) == ExitCode.CLEAN
    return built


def run(library: Path, scenario: str, capsys: pytest.CaptureFixture[str], out: Path) -> list[dict[str, object]]:
    main(["run", f"{library}:hardened", "--scenario", scenario, "--json", "--out", str(out)])
    runs: list[dict[str, object]] = json.loads(capsys.readouterr().out)["runs"]
    return runs


def test_it_is_clean(library: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    runs = run(library, "map_[!c]*", capsys, tmp_path) + run(library, "map_churn", capsys, tmp_path)
    assert len(runs) == 4
    for item in runs:
        assert item["verdict"] == "consistent", item
        assert item["coverage"]["kind"] == "complete"  # type: ignore[index]


def test_its_bug_is_found(library: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (found,) = run(library, str(library.parent / "scenario.toml"), capsys, tmp_path)
    assert found["verdict"] == "inconsistent"
    assert {item["invariant"] for item in found["findings"]} == {"torn-value"}  # type: ignore[attr-defined]
