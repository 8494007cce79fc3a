import subprocess
from pathlib import Path

import pytest

from powercut.base import paths
from tracer.valgrind.tests.valgrind_runs import PROGRAMS, Build


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Builds programs/NAME.c with the user's compiler, no pass: `build(name, "-O2", ...)`; each build once."""
    folder = tmp_path_factory.mktemp("programs")

    def build_one(name: str, *flags: str) -> Path:
        executable = folder / "-".join([name, *(flag.strip("-") for flag in flags)])
        if not executable.exists():
            include = f"-I{paths.home() / 'targets/include'}"
            source = PROGRAMS / f"{name}.c"
            argv = ["clang-19", "-g", "-Wall", "-Werror", "-Wno-unused-command-line-argument", include, *flags]
            subprocess.run([*argv, str(source), "-o", str(executable), "-lpthread"], check=True)
        return executable

    return build_one
