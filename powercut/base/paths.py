"""Where the project's parts lie.

An editable install finds them from this file. `POWERCUT_HOME`, `POWERCUT_BUILD` and `POWERCUT_ENGINE`
override the project folder, the build folder and the engine executable.
"""

import os
from functools import cache
from pathlib import Path

from powercut.base.errors import UsageError

ENGINE_NAME = "powercut-engine"
BUILD_STEP = "Run 'make build' in the project's folder, or 'powercut doctor' to see what is missing."


def home() -> Path:
    """The project's folder."""
    return _home(os.environ.get("POWERCUT_HOME"))


@cache
def _home(override: str | None) -> Path:
    return Path(override).resolve() if override else Path(__file__).resolve().parents[2]


def build_dir() -> Path:
    """The folder that holds `bin/` and `lib/`."""
    override = os.environ.get("POWERCUT_BUILD")
    return Path(override).resolve() if override else home() / "build"


def library_dir() -> Path:
    """The folder of the target libraries."""
    return build_dir() / "lib"


def scenario_dir() -> Path:
    """The folder of the scenarios."""
    return home() / "scenarios"


def include_dir() -> Path:
    """The headers for programs under test, as `<powercut/target.h>`."""
    return home() / "targets" / "include"


def tool(name: str) -> Path:
    """A native executable of the build; a usage error when it was not built."""
    path = build_dir() / "bin" / name
    if not os.access(path, os.X_OK) or path.is_dir():
        raise UsageError("not built yet", where=str(path), next_step=BUILD_STEP)
    return path


def engine() -> Path:
    """The native engine; a usage error when it was not built."""
    override = os.environ.get("POWERCUT_ENGINE")
    if not override:
        return tool(ENGINE_NAME)
    path = Path(override)
    if not os.access(path, os.X_OK) or path.is_dir():
        raise UsageError(
            "POWERCUT_ENGINE is not an executable file", where=str(path), next_step=f"Unset it. {BUILD_STEP}"
        )
    return path


def relative(path: str | Path, *, root: Path | None = None) -> str:
    """`path` relative to the project, else to the working folder, else as it is. Never resolves links."""
    text = os.path.normpath(path)
    for base in (root or home(), Path.cwd()):
        prefix = str(base).rstrip("/") + "/"
        if text.startswith(prefix):
            return text[len(prefix) :]
    return text
