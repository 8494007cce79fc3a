"""A cache with a version in its head. A restart drops a cache of another version, also one of zeroes."""

import os
import struct

from common import MENDED, enter

VERSION = 7


def save(entries: bytes) -> None:
    with open("cache.tmp", "wb") as file:
        file.write(struct.pack("<II", VERSION, len(entries)) + entries)
        if MENDED:
            file.flush()
            os.fsync(file.fileno())
    os.replace("cache.tmp", "cache")


def load() -> bytes:
    with open("cache", "rb") as file:
        version, size = struct.unpack("<II", file.read(8))
        return file.read(size) if version == VERSION else b""


match enter():
    case "setup":
        save(b"a")
    case "run":
        save(b"ab")
        save(b"abc")
    case "check":
        load()
