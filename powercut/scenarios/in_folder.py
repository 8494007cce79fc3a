"""The targets and scenario files in a user's folder, for a command that named nothing."""

import os
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from powercut.base.user_files import Unreadable, parse_toml, text_of
from powercut.scenarios.sections import ENTRIES

#: The function that every target library has (targets/include/powercut/target.h).
_ENTRY = b"powercut_target_entry"
_MOST_FILES = 500
_MOST_BYTES = 64 << 20
_NAMED = 3


@dataclass(frozen=True)
class InFolder:
    """Paths relative to the folder."""

    libraries: tuple[str, ...]
    scenarios: tuple[str, ...]

    def sentence(self) -> str:
        """Names the libraries and scenarios, and the command that runs each; empty where there are none."""
        said = []
        if self.libraries:
            said.append(f"Here {_are(self.libraries, 'target')}: 'powercut run ./{self.libraries[0]}' judges it.")
        if self.scenarios:
            said.append(f"Here {_are(self.scenarios, 'scenario')}: '--scenario {self.scenarios[0]}' chooses it.")
        return " ".join(said)


def look(folder: Path) -> InFolder:
    """Looks into a folder and into those below it, no deeper and not at hidden ones."""
    files = sorted(islice(_files(folder), _MOST_FILES))
    named = [(os.path.relpath(path, folder), path) for path in files]
    return InFolder(
        libraries=tuple(name for name, path in named if ".so" in path.suffixes and _is_target(path)),
        scenarios=tuple(name for name, path in named if path.suffix == ".toml" and _is_scenario(path)),
    )


def _files(folder: Path) -> Iterator[Path]:
    for pattern in ("*.toml", "*.so*", "*/*.toml", "*/*.so*"):
        for path in folder.glob(pattern):
            if not any(part.startswith(".") for part in path.relative_to(folder).parts) and path.is_file():
                yield path


def _is_target(path: Path) -> bool:
    try:
        return path.stat().st_size <= _MOST_BYTES and _ENTRY in path.read_bytes()
    except OSError:
        return False


def _is_scenario(path: Path) -> bool:
    try:
        content = parse_toml(text_of(path))
    except (OSError, Unreadable, tomllib.TOMLDecodeError):
        return False
    return "schema" in content and not {"phase", "targets", *ENTRIES}.isdisjoint(content)


def _are(names: tuple[str, ...], noun: str) -> str:
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    return f"is the {noun} {shown}" if len(names) == 1 else f"are the {noun}s {shown}"
