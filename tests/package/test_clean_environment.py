"""The packages as their users have them: installed from the wheels into an environment of their own.

Its folder has a space in its name and lies outside of the checkout; what tests of this tree are given (POWERCUT_BUILD
and its kin) is not there.
`make wheel` builds the wheels; they are those of the build folder.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from powercut import __version__
from powercut.base import paths

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "raw-intrinsics"
TEST = """
import powercut


def test_an_update_survives():
    powercut.check("level:hardened", [powercut.insert(1), powercut.update(1)])


def test_a_move_survives(powercut):
    powercut.assert_consistent("level:published", scenario="insert_move_bottom")
"""
CMAKE = """
cmake_minimum_required(VERSION 3.25)
project(shelf C)
find_package(powercut 0.2 REQUIRED)
add_library(shelf SHARED shelf_target.c example_map.c)
powercut_instrument(shelf)
"""

pytestmark = pytest.mark.slow


class Environment:
    """A virtual environment, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.work = folder / "some work"
        self.work.mkdir()
        self._bin = folder / "an environment" / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self._bin.parent], check=True)

    def install(self, pins: Path, *packages: str) -> None:
        """The pip of this Python installs the packages; it has downloaded most of what they need before.

        The first import compiles a module, and commands import one module in ten.
        """
        pip = (sys.executable, "-m", "pip", "--python", str(self._bin / "python"), "--disable-pip-version-check")
        install = [*pip, "install", "--quiet", "--no-compile", "-c", str(pins), *packages]
        subprocess.run(install, check=True, stdin=subprocess.DEVNULL)

    def run(self, *words: str, code: int = 0, folder: str = ".") -> str:
        """Both outputs of a command, which must end with the exit code `code`."""
        done = subprocess.run(
            words,
            cwd=self.work / folder,
            env={"PATH": f"{self._bin}:/usr/bin:/bin", "HOME": str(self.work)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == code, f"{' '.join(words)}: {done.returncode}\n{done.stdout}"
        return done.stdout


def wheels() -> list[Path]:
    """Packages that `make wheel` has put into the build folder; `make test` does so before."""
    found = sorted((paths.build_dir() / "dist").glob("powercut*.whl"))
    if not found:
        pytest.skip("no wheels; run 'make wheel'")
    return found


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("clean"))
    lock = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pins = made.work / "pins.txt"
    pins.write_text("\n".join(re.findall(r"^\S+==\S+", lock, re.MULTILINE)), encoding="utf-8")
    made.install(pins, "pytest", *map(str, wheels()))
    return made


def test_what_users_do_first(clean: Environment) -> None:
    """In one go, since the environment takes longer than all of it."""
    assert clean.run("powercut", "--version").strip() == f"powercut {__version__}"
    assert "share/powercut" not in clean.run("powercut", "doctor")
    a_finding_with_its_lines(clean)
    a_new_target_and_its_bug(clean)
    a_cmake_project(clean)
    a_program_and_its_bug(clean)
    a_failing_test(clean)
    a_folder_of_files(clean)
    (clean.work / ".powercut" / "report.html").unlink()
    clean.run("powercut", "report", ".powercut", "--format", "html", code=1)
    assert "targets/level/" in (clean.work / ".powercut" / "report.html").read_text(encoding="utf-8")


def a_finding_with_its_lines(clean: Environment) -> None:
    said = clean.run("powercut", "run", "level:published", "--scenario", "insert_move_bottom", code=1)
    assert re.search(r"targets/level/\w+\.cc:\d+", said)


def a_new_target_and_its_bug(clean: Environment) -> None:
    clean.run("powercut", "new-target", "shelf")
    clean.run("make", folder="shelf")
    assert "consistent, complete" in clean.run("powercut", "run", "./libshelf.so", folder="shelf")
    source = clean.work / "shelf" / "example_map.c"
    text = source.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines(keepends=True) if "the new item is durable before it counts" not in line]
    source.write_text("".join(lines), encoding="utf-8")
    clean.run("make", folder="shelf")
    assert "example_map.c:" in clean.run("powercut", "run", "./libshelf.so", code=1, folder="shelf")


def a_cmake_project(clean: Environment) -> None:
    """Builds the adapter by the package file for CMake."""
    native = clean.run("python", "-c", "import powercut.base.paths as p; print(p.build_dir())").strip()
    (clean.work / "shelf" / "CMakeLists.txt").write_text(CMAKE, encoding="utf-8")
    clean.run(
        "cmake",
        "-S",
        ".",
        "-B",
        "built",
        f"-DCMAKE_PREFIX_PATH={native}",
        "-DCMAKE_C_COMPILER=clang-19",
        folder="shelf",
    )
    clean.run("cmake", "--build", "built", folder="shelf")
    assert "example_map.c:" in clean.run("powercut", "run", "built/libshelf.so", code=1, folder="shelf")


def a_program_and_its_bug(clean: Environment) -> None:
    shutil.copytree(EXAMPLE, clean.work / "ledger", ignore=shutil.ignore_patterns("ledger", "ledger-bug", "*.pool"))
    judged = (
        "powercut run --setup '{} create a.pool' --record '{} run a.pool' --recover '{} check a.pool' --pool a.pool"
    )
    for compiler, tracer in (("cc", "valgrind"), ("powercut cc", "llvm")):
        clean.run("make", "-B", f"CC={compiler}", folder="ledger")
        for program, code in (("./ledger", 0), ("./ledger-bug", 1)):
            said = clean.run("sh", "-c", judged.format(program, program, program), code=code, folder="ledger")
            assert f"(with {tracer}, exit status 0)" in said


def a_folder_of_files(clean: Environment) -> None:
    (clean.work / "data").mkdir()
    clean.run("powercut", "record", "--files", "data", "-o", "run.pct", "--", "sh", "-c", "echo x > data/file")
    assert "Unsynced at the end: data of file (1 sector since call 2)." in clean.run("powercut", "view", "run.pct")
    assert "auto_da_alloc" in clean.run("powercut", "models", "files", "ext4")


def a_failing_test(clean: Environment) -> None:
    (clean.work / "test_map.py").write_text(TEST, encoding="utf-8")
    said = clean.run("python", "-m", "pytest", "-q", "test_map.py", code=1)
    assert "1 failed, 1 passed" in said
    assert "targets/level/" in said
