"""Letters wait in `outbox`; a restart moves them to `sent`."""

import os

from common import MENDED, acknowledge, append, enter, lines


def drop_torn_end(path: str) -> None:
    os.truncate(path, sum(len(line.encode()) + 10 for line in lines(path)))


def send() -> None:
    drop_torn_end("sent")
    for letter in lines("outbox"):
        if MENDED and letter in lines("sent"):
            continue  # an earlier restart has sent it
        append("sent", letter)
    os.truncate("outbox", 0)


match enter():
    case "setup":
        append("sent", "letter 0")
        open("outbox", "w").close()
    case "run":
        append("outbox", "letter 1")
        acknowledge("letter 1")
        append("outbox", "letter 2")
        acknowledge("letter 2")
    case "check":
        send()
    case "dump":
        waiting = [letter for letter in lines("outbox") if not MENDED or letter not in lines("sent")]
        print(*lines("sent"), *waiting, sep="\n")
