"""The one place at which files that people or other programs wrote are read: whatever lies under a path, and whatever
it holds, ends in a value or in one sentence.

Only a regular file is read: opening a pipe waits for its other end, a device may never end. The content is bounded in
size and in depth, since everything that walks over a value later goes down the stack.
"""

import json
import os
import stat
import tomllib
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError

#: Larger than any record that a run writes.
MOST_BYTES = 1 << 30
#: Deeper than anything that is read nests.
MOST_NESTING = 100

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
)


class Unreadable(ValueError):
    """Why a file has no value, as people would put it."""


def text_of(path: Path) -> str:
    """The text of a file; FileNotFoundError when there is none, Unreadable for everything else."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        raise Unreadable(_reason(error)) from error
    try:
        if kind := _other_kind(os.fstat(handle).st_mode):
            raise Unreadable(f"this is {kind}, not a file")
        with os.fdopen(handle, "rb", closefd=False) as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise Unreadable(_reason(error)) from error
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        raise Unreadable("the file is larger than 1 GiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Unreadable("it is not UTF-8 text") from error


def refuse_other_kinds(path: Path, *, place: str = "", next_step: str) -> None:
    """UsageError where something else than a file lies under a path, such as a pipe; nothing there is fine."""
    try:
        kind = _other_kind(path.stat().st_mode)
    except (OSError, ValueError):
        return
    if kind:
        raise UsageError(f"this is {kind}, not a file", where=place or str(path), next_step=next_step)


def _other_kind(mode: int) -> str:
    """Returns the kind of file that a mode tells, as people say it; empty for an ordinary file."""
    return "" if stat.S_ISREG(mode) else next((name for is_kind, name in _KINDS if is_kind(mode)), "a device")


def json_of(path: Path) -> Any:
    """The value in a JSON file; FileNotFoundError or Unreadable."""
    return parse_json(text_of(path))


def parse_json(text: str) -> Any:
    """A JSON value; json.JSONDecodeError, or Unreadable for one that only Python would take."""
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except RecursionError:
        raise Unreadable(_TOO_DEEP) from None
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise Unreadable("a number in it has thousands of digits") from error
    return _bounded(value)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; tomllib.TOMLDecodeError or Unreadable."""
    try:
        return _bounded(tomllib.loads(text))  # type: ignore[no-any-return]  # what goes in comes out
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise Unreadable(_TOO_DEEP) from None
    except (ValueError, OverflowError) as error:  # a number of a thousand digits, a day that there is not
        raise Unreadable(str(error)) from error


def read_text(path: Path, kind: str, *, place: str = "", next_step: str) -> str:
    """The text of a file that the user gave; `kind` and `place` are for the UsageError when it cannot be read."""
    try:
        return text_of(path)
    except (OSError, Unreadable) as error:
        raise UsageError(
            f"cannot read {kind} ({_reason(error)})", where=place or str(path), next_step=next_step
        ) from error


def read_json(path: Path, kind: str, *, next_step: str) -> Any:
    """The value in a JSON file that the user gave; UsageError for everything else."""
    text = read_text(path, kind, next_step=next_step)
    try:
        return parse_json(text)
    except ValueError as error:
        raise UsageError(f"cannot read {kind} (not JSON: {error})", where=str(path), next_step=next_step) from error


_TOO_DEEP = f"it nests deeper than {MOST_NESTING} levels"


def _reason(error: Exception) -> str:
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)


def _no_constant(name: str) -> Any:
    raise json.JSONDecodeError(f"{name} is no number of JSON", name, 0)


def _bounded(value: Any) -> Any:
    level = [value]
    for _ in range(MOST_NESTING + 1):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return value
    raise Unreadable(_TOO_DEEP)
