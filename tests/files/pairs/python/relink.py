"""A file that never changes in place: the new one gets the name of the old one by a hard link."""

import os
from pathlib import Path

from common import MENDED, acknowledge, enter, sync_folder


def publish(text: str) -> None:
    with open("page.new", "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    if MENDED:
        os.rename("page.new", "page")
    else:
        if os.path.exists("page"):
            os.unlink("page")
        os.link("page.new", "page")
        os.unlink("page.new")
    sync_folder()


match enter():
    case "setup":
        publish("<h1>one</h1>")
    case "run":
        publish("<h1>two</h1>")
        acknowledge("two")
        publish("<h1>three</h1>")
        acknowledge("three")
    case "check":
        assert Path("page").read_text().endswith("</h1>"), "page: damaged"
    case "dump":
        print(Path("page").read_text())
