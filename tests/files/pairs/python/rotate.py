"""A log that is rotated: `log` becomes `log.1`, and a new `log` begins."""

import os

from common import MENDED, acknowledge, append, enter, lines, sync_folder


def rotate() -> None:
    os.rename("log", "log.1")
    if MENDED:
        sync_folder()


def add(text: str) -> None:
    is_new = not os.path.exists("log")
    append("log", text)
    if is_new and MENDED:
        sync_folder()


match enter():
    case "setup":
        append("log", "boot")
        append("log", "login")
    case "run":
        rotate()
        add("logout")
        acknowledge("logout")
        add("halt")
        acknowledge("halt")
    case "check":
        if os.path.exists("log"):
            size = sum(len(line.encode()) + 10 for line in lines("log"))
            os.truncate("log", size)
    case "dump":
        print(*lines("log.1"), *lines("log"), sep="\n")
