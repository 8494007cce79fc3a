"""Settings in a file: `settings.py setup|run|check|dump FOLDER [by-hand]`.

`run` saves twice and prints `saved COLOUR`: by python-atomicwrites, or `by-hand` with a temporary file that is renamed
and not synced. `check` is the restart.
"""

import json
import os
import sys
from collections.abc import Callable

verb, folder, *how = sys.argv[1:]
path = f"{folder}/settings.json"


def save_by_hand(settings: dict[str, str]) -> None:
    with open(path + ".tmp", "w") as file:
        json.dump(settings, file)
    os.replace(path + ".tmp", path)


def save_by_package(settings: dict[str, str]) -> None:
    from atomicwrites import atomic_write

    with atomic_write(path, overwrite=True) as file:
        json.dump(settings, file)


save: Callable[[dict[str, str]], None] = save_by_hand if how else save_by_package
if verb == "setup":
    save({"colour": "red"})
elif verb == "run":
    for colour in ("blue", "green"):
        save({"colour": colour})
        print("saved", colour, flush=True)
else:
    with open(path) as file:
        settings = json.load(file)
    if verb == "dump":
        print(settings)
