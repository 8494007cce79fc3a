"""The program of `powercut.check_files`: calls the functions of a test in a process of its own.

    python folder_program.py setup|write|recover|continue CALL FOLDER

Each line of the file CALL has words between tabs: `path` and a folder of Python's modules; or the name of a function
here, its module, the module's file, and its name there. Operations lie beside the file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

# This program starts for each folder that a power cut may leave: it loads no module that it can do without.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

#: Beside the file of the call.
OPERATIONS = "operations.pickle"
#: Bytes of an operation's text in a mark.
_MOST = 200


def function(module: str, file: str, name: str) -> Callable[..., Any]:
    """The function of a test's module, by the module's name or by its file."""
    found: Any = _module(module, file)
    for part in name.split("."):
        found = getattr(found, part)
    made: Callable[..., Any] = found
    return made


def _module(name: str, file: str) -> Any:
    if name != "__main__":
        try:
            __import__(name)
            if getattr(sys.modules[name], "__file__", None) == file:
                return sys.modules[name]
        except ImportError:
            pass
    import importlib.util

    spec = importlib.util.spec_from_file_location(name if name != "__main__" else "powercut_test_module", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def lines(value: object) -> Iterator[str]:
    """The value that recovery has returned, in lines that each process prints alike: sets and keys are sorted."""
    if isinstance(value, dict):
        for key in sorted(value, key=repr):
            yield f"{key!r}: {value[key]!r}"
    elif isinstance(value, set | frozenset):
        yield from sorted(map(repr, value))
    elif isinstance(value, str):
        yield from value.splitlines()
    elif isinstance(value, list | tuple):
        yield from map(repr, value)
    elif value is not None:
        yield repr(value)


def main() -> None:
    what, file, folder = sys.argv[1], sys.argv[2], Path(sys.argv[3])
    with open(file, encoding="utf-8") as text:
        rows = [line.rstrip("\n").split("\t") for line in text]
    sys.path[:] = [value for word, value, *_ in rows if word == "path"]
    (named,) = (rest for word, *rest in rows if word == what)
    chosen = function(*named)
    if what != "write":
        for line in lines(chosen(folder)):
            print(line)
        return
    import pickle

    from powercut import marks

    with open(os.path.join(os.path.dirname(file), OPERATIONS), "rb") as kept:
        operations = pickle.load(kept)
    for words in [(operation,) for operation in operations] if operations is not None else [()]:
        said = f"{named[2]}({', '.join(map(repr, words))})"
        with marks.operation("maintain", said[:_MOST]):
            chosen(folder, *words)


if __name__ == "__main__":
    main()
