"""A log of assignments. Each start compacts it into a file beside it, which a power cut may have left there."""

import os
import zlib

from common import MENDED, acknowledge, append, enter, lines, sync_folder


def load() -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines("log"))


def compact() -> None:
    with open("log.new", "w" if MENDED else "a") as file:
        for key, value in load().items():
            text = f"{key}={value}"
            file.write(f"{zlib.crc32(text.encode()):08x} {text}\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace("log.new", "log")
    sync_folder()


match enter():
    case "setup":
        for key in "abcdef":
            append("log", f"{key}={key * 100}")
    case "run":
        append("log", "a=1")
        acknowledge("a")
        compact()
        append("log", "b=2")
        acknowledge("b")
    case "check":
        compact()
    case "dump":
        print(*(f"{key}={value}" for key, value in load().items()), sep="\n")
