"""The configuration of a program as JSON, renamed over the old one."""

import json
import os

from common import MENDED, acknowledge, enter, sync_folder


def save(config: dict[str, object]) -> None:
    with open("config.json.tmp", "w") as file:
        json.dump(config, file)
        if MENDED:
            file.flush()
            os.fsync(file.fileno())
    os.replace("config.json.tmp", "config.json")
    sync_folder()


def load() -> dict[str, object]:
    with open("config.json") as file:
        return json.load(file)


match enter():
    case "setup":
        save({"theme": "light"})
    case "run":
        save({"theme": "dark"})
        acknowledge("dark")
        save({"theme": "dark", "size": 12})
        acknowledge("size")
    case "check":
        load()
    case "dump":
        print(load())
