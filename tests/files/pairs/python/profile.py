"""A profile that is written beside the old one. The sync is one of the old file."""

import os
from pathlib import Path

from common import MENDED, acknowledge, enter, sync_folder


def sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


def save(name: str, mail: str) -> None:
    with open("profile.part", "w") as file:
        file.write(f"name: {name}\nmail: {mail}\nend\n")
    sync("profile.part" if MENDED or not os.path.exists("profile") else "profile")
    os.rename("profile.part", "profile")
    sync_folder()


def load() -> str:
    text = Path("profile").read_text()
    assert text.startswith("name: ") and text.endswith("\nend\n"), "profile: damaged"
    return text


match enter():
    case "setup":
        save("Ada", "ada@post.org")
    case "run":
        save("Ada", "ada@mail.org")
        acknowledge("mail")
        save("Ada L.", "ada@mail.org")
        acknowledge("name")
    case "check":
        load()
    case "dump":
        print(load(), end="")
