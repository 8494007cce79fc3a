"""Uploads are promised by a line of the journal, and get their names later. A restart clears what is unfinished."""

import os

from common import MENDED, acknowledge, append, enter, lines, sync_folder


def upload(name: str) -> None:
    append(f"{name}.part", f"content of {name}")
    sync_folder()
    append("journal", name)
    acknowledge(name)


def publish(name: str) -> None:
    if os.path.exists(f"{name}.part"):
        os.rename(f"{name}.part", name)


match enter():
    case "setup":
        append("journal", "nothing")
        append("nothing", "content of nothing")
    case "run":
        upload("a")
        upload("b")
        publish("a")
        publish("b")
    case "check":
        for name in os.listdir():
            if name.endswith(".part"):
                if MENDED and name.removesuffix(".part") in lines("journal"):
                    publish(name.removesuffix(".part"))
                else:
                    os.unlink(name)
    case "dump":
        for name in lines("journal"):
            print(name, lines(name) or lines(f"{name}.part"))
