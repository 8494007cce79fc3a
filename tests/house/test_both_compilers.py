"""Every scheme, compiled by clang 16 as well: verdicts and findings are those of the build.

Crash states are not compared: how a plain copy becomes stores is the compiler's choice, and with it their number.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from powercut.base import paths
from powercut.cli.main import main
from powercut.compile import cc, compilers
from powercut.scenarios import targets
from tests.real_engine import require_engine

pytestmark = pytest.mark.long


def build(name: str, folder: Path) -> Path:
    """The scheme's library, from the sources and definitions of the build's own, by `powercut c++` in one call."""
    commands = json.loads((paths.build_dir() / "compile_commands.json").read_text(encoding="utf-8"))
    own = [entry for entry in commands if f"/powercut_target_{name}.dir/" in entry["command"]]
    assert own, f"{name}: the build has no such target"
    flags = {word for entry in own for word in shlex.split(entry["command"]) if word.startswith(("-I", "-D"))}
    library = folder / f"libpowercut-{name}.so"
    argv = ["-std=c++20", "-O2", "-shared", "-fPIC", *sorted(flags), *(entry["file"] for entry in own)]
    command = cc.build_command([*argv, "-o", str(library)], cxx=True)
    assert "libpowercut_pass_16.so" in " ".join(command)
    subprocess.run(command, check=True)
    return library


def judged(library: str, capsys: pytest.CaptureFixture[str], out: Path) -> dict[tuple[str, str], Any]:
    main(["run", f"{library}:published", f"{library}:hardened", "--json", "--out", str(out), "--format", "json"])
    runs = json.loads(capsys.readouterr().out)["runs"]
    return {
        (run["variant"], run["scenario"]): {
            "verdict": run["verdict"],
            "coverage": run["coverage"]["kind"],
            "findings": sorted((item["invariant"], str(item["store_site"])) for item in run["findings"]),
        }
        for run in runs
    }


def schemes() -> list[str]:
    return [name for name in targets.libraries() if name not in targets.SELF_TEST_TARGETS]


@pytest.mark.parametrize("name", schemes())
def test_verdicts_do_not_depend_on_the_compiler(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    require_engine()
    assert set(compilers.PLUGINS) >= {19, 16}
    monkeypatch.setenv("POWERCUT_CLANG", "clang-16")
    monkeypatch.delenv("POWERCUT_CLANGXX", raising=False)
    expected = judged(name, capsys, tmp_path / "19")
    assert expected and all(run["verdict"] != "unknown" for run in expected.values())
    assert judged(str(build(name, tmp_path)), capsys, tmp_path / "16") == expected
