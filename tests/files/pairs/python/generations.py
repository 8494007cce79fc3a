"""The state of a program, a file for each generation: the newest whole one counts, and the one before is removed."""

import os

from common import MENDED, acknowledge, append, enter, lines, sync_folder


def generations() -> list[int]:
    return sorted(int(name.removeprefix("state.")) for name in os.listdir() if name.startswith("state."))


def load() -> tuple[int, str]:
    for generation in reversed(generations()):
        if text := lines(f"state.{generation}"):
            return generation, text[0]
    raise SystemExit("no state is whole")


def save(text: str) -> None:
    old, _ = load()
    append(f"state.{old + 1}", text)
    if MENDED:
        sync_folder()
    os.unlink(f"state.{old}")


match enter():
    case "setup":
        append("state.0", "level 1")
    case "run":
        save("level 2")
        acknowledge("level 2")
        save("level 3")
        acknowledge("level 3")
    case "check":
        newest, _ = load()
        for generation in generations():
            if generation != newest:
                os.unlink(f"state.{generation}")
    case "dump":
        print(load()[1])
