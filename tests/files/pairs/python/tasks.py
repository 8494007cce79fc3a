"""A list of tasks, a line each. The sync comes while the text is still in Python's buffer."""

import os
from pathlib import Path

from common import MENDED, acknowledge, enter, sync_folder


def save(tasks: list[str]) -> None:
    with open("tasks.new", "w") as file:
        for task in tasks:
            print("-", task, file=file)
        if MENDED:
            file.flush()
        os.fsync(file.fileno())
    os.replace("tasks.new", "tasks")
    sync_folder()


def load() -> list[str]:
    text = Path("tasks").read_text()
    assert text.endswith("\n"), "tasks: torn"
    assert all(line.startswith("- ") for line in text.splitlines()), "tasks: no list"
    return text.splitlines()


match enter():
    case "setup":
        save(["shop"])
    case "run":
        save(["shop", "cook"])
        acknowledge("cook")
        save(["cook", "eat"])
        acknowledge("eat")
    case "check":
        load()
    case "dump":
        print(*load(), sep="\n")
