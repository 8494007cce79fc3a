"""Marks the operations of a program for `powercut record --files` (docs/files-marks.md). Otherwise a mark does nothing.

    from powercut import marks

    with marks.operation("insert", key, value):
        store.insert(key, value)

The file needs nothing else of powercut: a program that runs without the package may bring a copy of this file.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager

Data = bytes | str


def begin(kind: str, key: Data = b"", value: Data = b"") -> None:
    """An operation begins: format, open, insert, update, erase, lookup, maintain or close."""
    _write("begin", kind, key, *([value] if value else []))


def end(status: str = "OK", value: Data = b"") -> None:
    """The operation of this thread has ended; a lookup has returned `value`."""
    _write("end", status, *([value] if value else []))


def point(name: str) -> None:
    """Names a place of the program."""
    _write("point", name)


@contextmanager
def operation(kind: str, key: Data = b"", value: Data = b"") -> Iterator[None]:
    """The operation is acknowledged when the body has ended; after an exception it stays open."""
    begin(kind, key, value)
    yield
    end()


def _word(data: Data) -> str:
    raw = data.encode() if isinstance(data, str) else data
    return "".join(chr(byte) if 32 < byte < 127 and byte != 37 else f"%{byte:02X}" for byte in raw)


def _write(*words: Data) -> None:
    if path := os.environ.get("POWERCUT_MARKS"):
        with open(path, "ab", buffering=0) as file:
            file.write(" ".join(map(_word, words)).encode() + b"\n")
