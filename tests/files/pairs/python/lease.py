"""A lock file with the name of its owner, who may take it again."""

import os
from pathlib import Path

from common import MENDED, acknowledge, append, enter, lines


def take(owner: str) -> None:
    try:
        with open("lease", "x") as file:
            file.write(owner + "\n")
    except FileExistsError:
        held = Path("lease").read_text()
        if MENDED and not held.strip("\0\n"):
            held = owner  # a power cut came before its owner had written a name
        if held.strip() != owner:
            raise SystemExit(f"lease: held by {held!r}") from None


match enter():
    case "setup":
        append("log", "made")
    case "run":
        take("me")
        append("log", "changed")
        acknowledge("changed")
        os.unlink("lease")
    case "check":
        take("me")
        os.unlink("lease")
    case "dump":
        print(*lines("log"), sep="\n")
