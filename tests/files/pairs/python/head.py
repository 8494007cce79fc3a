"""Bodies of text in files of their own, and a head that names the newest one."""

from common import MENDED, acknowledge, enter, save


def commit(number: int, text: str) -> None:
    if MENDED:
        save(f"body.{number}", text)
    save("head", f"body.{number}\n")
    if not MENDED:
        save(f"body.{number}", text)


def load() -> str:
    with open("head") as head, open(head.read().strip()) as body:
        return body.read()


match enter():
    case "setup":
        commit(1, "once\n")
    case "run":
        commit(2, "once upon\n")
        acknowledge(2)
        commit(3, "once upon a time\n")
        acknowledge(3)
    case "check":
        load()
    case "dump":
        print(load(), end="")
