"""Recent files in a list that nobody misses. A restart begins anew when the list is empty: file systems empty files."""

import json
import os
from pathlib import Path

from common import MENDED, enter


def save(names: list[str]) -> None:
    with open("recent.tmp", "w") as file:
        file.write(json.dumps(names))
        if MENDED:
            file.flush()
            os.fsync(file.fileno())
    os.replace("recent.tmp", "recent")


def load() -> list[str]:
    text = Path("recent").read_text()
    return json.loads(text) if text else []


match enter():
    case "setup":
        save(["a.txt"])
    case "run":
        save(["b.txt", "a.txt"])
        save(["c.txt", "b.txt", "a.txt"])
    case "check":
        load()
