"""Scores in a file that each save writes anew, from its beginning."""

import os
from pathlib import Path

from common import MENDED, acknowledge, enter, sync_folder


def save(scores: dict[str, int]) -> None:
    path = "scores.new" if MENDED else "scores"
    with open(path, "w") as file:
        file.writelines(f"{name} {score}\n" for name, score in scores.items())
        file.flush()
        os.fsync(file.fileno())
    if MENDED:
        os.replace("scores.new", "scores")
    sync_folder()


def load() -> dict[str, int]:
    scores = {}
    for line in Path("scores").read_text().splitlines(keepends=True):
        name, score = line.split()
        scores[name] = int(score)
    assert scores, "scores: none"
    return scores


match enter():
    case "setup":
        save({"ann": 3})
    case "run":
        save({"ann": 3, "bob": 5})
        acknowledge("bob")
        save({"ann": 4, "bob": 5})
        acknowledge("ann")
    case "check":
        load()
    case "dump":
        print(load())
