"""A package is built from a fresh clone by the command of `action.yml`, and its objects are those of the build folder.

The package's own back end configures the clone; it sets CC and CXX where nobody else has. The test compiles one small
library and compares all other commands with those of the build folder. Equal commands make equal objects, and these are
tested already.
"""

import os
import re
import shlex
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest
import yaml

from powercut.base import paths

ROOT = Path(__file__).resolve().parents[2]
#: A library of one C file, and a component that installs nothing.
LITTLE = ("--config-settings=build.targets=powercut_call_filter", "--config-settings=install.components=none")

pytestmark = pytest.mark.slow


def command_of_the_action() -> list[str]:
    """The words of the step that makes the package."""
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    (step,) = (step for step in steps if step["name"] == "Build the package")
    (line,) = (line for line in step["run"].splitlines() if " pip wheel " in line)
    return shlex.split(line)


def compilations(build: Path) -> dict[str, str]:
    """The command that makes each object of a package, by the object's path; the checkout's own folder is `.` in it."""
    asked = ("ninja", "-C", build, "-t", "commands", "powercut_schemes", "powercut_valgrind")
    said = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    found = {}
    for line in said.replace(str(build.parent), ".").splitlines():
        if made := re.search(r" -o (\S+\.(?:o|pch)) ", line):
            found[made[1]] = line
    return found


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that git knows, and the checkout's Python."""
    made = tmp_path_factory.mktemp("fresh") / "clone"
    listed = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists():  # a file may be deleted and not committed
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, made / name)
    (made / ".venv").symlink_to(ROOT / ".venv")
    return made


def test_a_package_is_built_from_a_fresh_clone(clone: Path) -> None:
    build = paths.build_dir()
    if not (build / "build.ninja").is_file():
        pytest.skip("no build folder; run 'make build'")
    environment = {name: value for name, value in os.environ.items() if name not in ("CC", "CXX")}
    done = subprocess.run(
        (*command_of_the_action(), *LITTLE), cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = (clone / "build" / "dist").glob("powercut-*.whl")
    assert "powercut/__init__.py" in zipfile.ZipFile(wheel).namelist()
    own, wanted = compilations(build), compilations(clone / "build")
    assert len(wanted) > 200
    assert {name: line for name, line in wanted.items() if own.get(name) != line} == {}
