"""The one place at which outputs are written: durably and as a whole.

A file is written beside its place, synced and renamed, so a reader sees a whole file or none.
"""

import json
import os
import secrets
from pathlib import Path

import pydantic_core

from powercut.base import resources
from powercut.base.errors import UsageError


def write_json(path: Path, value: object) -> None:
    """Writes `value` durably and as a whole: a reader sees the old file or the new one."""
    write_text(path, json_text(value) + "\n")


def json_text(value: object) -> str:
    """`value` as JSON that people can read; a record of a finding has some hundred thousand lines."""
    try:
        return pydantic_core.to_json(value, indent=1).decode()
    except ValueError:
        # Text that is not UTF-8, as surrogates: json.dumps() takes it, in a hundred times the time.
        return json.dumps(value, indent=1, ensure_ascii=False)


def write_text(path: Path, text: str) -> None:
    """Writes a file durably and as a whole, as `replace_text` does."""
    write_bytes(path, _encoded(text))


def write_bytes(path: Path, content: bytes) -> None:
    """Writes bytes to a file durably and as a whole."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, content)
    except OSError as error:
        raise unwritable(path, error) from error


def replace_text(path: Path, text: str) -> None:
    """Writes a file durably and as a whole, with the permissions that the umask leaves; OSError."""
    _replace(path, _encoded(text))


def _encoded(text: str) -> bytes:
    """A path that is not UTF-8 stands in a text as surrogates. They are written as JSON escapes them."""
    return text.encode("utf-8", "backslashreplace")


def _replace(path: Path, content: bytes) -> None:
    name = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    # Not mkstemp(): its files are private whatever the umask says, and a chmod() knows no umask.
    handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def unwritable(path: Path, error: OSError) -> UsageError:
    """The error for an output that cannot be written."""
    return UsageError(
        f"cannot write here ({error.strerror or error})",
        where=str(path),
        next_step=resources.advice(error.errno) or "Choose another folder with --out, or correct its permissions.",
    )
