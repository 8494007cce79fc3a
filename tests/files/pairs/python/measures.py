"""Measures as lines of JSON of some 700 bytes at the end of a file. A restart drops a line without its end."""

import json
import os
from pathlib import Path

from common import MENDED, acknowledge, enter


def add(at: int, heat: int) -> None:
    with open("measures", "a") as file:
        file.write(json.dumps({"at": at, "heat": [heat] * 170}) + "\n")
        file.flush()
        os.fsync(file.fileno())
    acknowledge(at)


def load() -> list[str]:
    lines = []
    for line in Path("measures").read_text().splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        try:
            json.loads(line)
        except ValueError:
            if not MENDED:
                raise
            break
        lines.append(line)
    return lines


match enter():
    case "setup":
        add(1, 20)
    case "run":
        add(2, 21)
        add(3, 25)
    case "check":
        os.truncate("measures", len("".join(load())))
    case "dump":
        print(*load(), sep="", end="")
