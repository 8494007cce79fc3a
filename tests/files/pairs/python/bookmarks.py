"""Bookmarks in a file that is synced and renamed: the folder has the new name, if it is synced too."""

import os
from pathlib import Path

from common import MENDED, acknowledge, enter, sync_folder


def save(text: str) -> None:
    with open("bookmarks.tmp", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace("bookmarks.tmp", "bookmarks")
    if MENDED:
        sync_folder()


match enter():
    case "setup":
        save("a.org\n")
    case "run":
        save("a.org\nb.org\n")
        acknowledge("b.org")
        save("a.org\nb.org\nc.org\n")
        acknowledge("c.org")
    case "check" | "dump" as verb:
        text = Path("bookmarks").read_text()
        assert text.startswith("a.org\n"), "bookmarks: damaged"
        if verb == "dump":
            print(text, end="")
