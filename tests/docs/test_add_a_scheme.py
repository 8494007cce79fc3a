"""docs/add-a-scheme.md: its code is that of `targets/linear`, and what it shows of a device compiles.

`test_docs.py` types the commands of the page.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.cli.main import main
from tests.real_engine import require_engine

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "add-a-scheme.md").read_text(encoding="utf-8")


def shown() -> list[tuple[str, str]]:
    """The code of the page's first three sections, each block with the file that the text before it names last."""
    found: list[tuple[str, str]] = []
    text = PAGE.partition("## 4.")[0]
    for match in re.finditer(r"^```(?:cmake|cpp|toml)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
        named = re.findall(r"`((?:targets/linear|scenarios)/[\w./]+\.\w+)`", text[: match.start()])
        found.append((named[-1], match[1]))
    return found


def test_its_code_is_that_of_the_folder() -> None:
    files = [file for file, _ in shown()]
    assert files == [
        "targets/linear/CMakeLists.txt",
        "targets/linear/table.h",
        "targets/linear/target.cc",
        "targets/linear/items.cc",
        "scenarios/known_bugs/linear.toml",
    ]
    for file, code in shown():
        assert code in (ROOT / file).read_text(encoding="utf-8"), f"{file} has other lines by now:\n{code}"


@pytest.mark.slow
def test_what_it_shows_of_a_device_compiles(tmp_path: Path) -> None:
    require_engine()
    (device,) = re.findall(r"^```cpp\n(.*?)^```$", PAGE.partition("## 4.")[2], flags=re.DOTALL | re.MULTILINE)
    source = tmp_path / "device.cc"
    source.write_text(device, encoding="utf-8")
    include = f"-I{paths.home() / 'targets' / 'include'}"
    command = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror", "-O2", "-c", str(source), include]
    assert main([*command, "-o", str(tmp_path / "device.o")]) == ExitCode.CLEAN
