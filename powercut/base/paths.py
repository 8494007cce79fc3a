"""Where the project's parts lie.

A package that was installed has them in `native/` beside its modules, as `cmake --install` lays them out. In a checkout
they lie in the project's folder and in `build/`. `POWERCUT_HOME`, `POWERCUT_BUILD` and `POWERCUT_ENGINE` override the
project folder, the build folder and the engine executable.
"""

import os
from functools import cache
from pathlib import Path

from powercut.base.errors import UsageError

ENGINE_NAME = "powercut-engine"
#: The project's folder as the debug information of our own libraries calls it (cmake/PowercutFlags.cmake).
BUILT_FROM = "/powercut"
_NATIVE = Path(__file__).resolve().parents[1] / "native"
_INSTALLED = _NATIVE.is_dir()
#: Advice for a part that is missing, or is of another build than the rest.
BUILD = "Install the package powercut again." if _INSTALLED else "Run 'make build' in the project's folder."
BUILD_STEP = f"{BUILD} 'powercut doctor' shows what is missing."


def installed() -> bool:
    """Whether this is an installed package, and no checkout."""
    return _INSTALLED


def home() -> Path:
    """The project's folder: what there is to read, such as scenarios and the sources of the schemes."""
    return _home(os.environ.get("POWERCUT_HOME"))


@cache
def _home(override: str | None) -> Path:
    if override:
        return Path(override).resolve()
    return _NATIVE / "share" / "powercut" if _INSTALLED else Path(__file__).resolve().parents[2]


def build_dir() -> Path:
    """The folder that holds `bin/` and `lib/`."""
    override = os.environ.get("POWERCUT_BUILD")
    if override:
        return Path(override).resolve()
    return _NATIVE if _INSTALLED else home() / "build"


def library_dir() -> Path:
    """The folder of the target libraries."""
    return build_dir() / "lib"


def scenario_dir() -> Path:
    """The folder of the scenarios."""
    return home() / "scenarios"


def profile_dir() -> Path:
    """The folder of the profiles of file systems."""
    return home() / "replayer" / "media" / "files" / "profiles"


def include_dir() -> Path:
    """The headers for programs under test, as `<powercut/target.h>`."""
    return _NATIVE / "include" if _INSTALLED else home() / "targets" / "include"


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
    for base in (root or home(), BUILT_FROM, Path.cwd()):
        prefix = str(base).rstrip("/") + "/"
        if text.startswith(prefix):
            return text[len(prefix) :]
    return text
