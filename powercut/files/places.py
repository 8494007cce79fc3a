"""Where in its source a program made a call, as far as that can be told to people.

The frames of an interpreter or of a managed runtime are left out: its C files are no place of the program. Python, Node
and Java then show no place, and the call with its path and its arguments is what a person looks for.
"""

import os
import re
from collections.abc import Sequence

from powercut.engine.events import Module
from powercut.symbols.function_names import function_name
from powercut.symbols.symbolize import Frame, Symbolizer, site_frame

#: Programs and libraries that run programs of others, and extension modules that come with Python.
_RUNTIMES = re.compile(
    r"(?:lib)?(?:python|pypy|node|ruby|perl|php|lua|guile|R|julia|deno|bun|tcl)[\d.t-]*(?:\.so.*)?$"
    r"|(?:ba|da|z|k|c|tc)?sh$|busybox$|java$|lib(?:jvm|java|jli|nio|jimage|verify|coreclr|clrjit)\.so"
)
_STANDARD_MODULES = re.compile(r"/python[\d.t]+/lib-dynload/")
_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$")
#: Functions of powercut/mark.h, which write a mark for their caller.
_MARK = "powercut_mark_"
#: Programs and libraries of the distribution.
_DISTRIBUTION = ("/lib/", "/lib64/", "/bin/", "/sbin/", "/usr/lib/", "/usr/lib64/", "/usr/bin/", "/usr/sbin/")


def is_runtime(path: str) -> bool:
    """Whether the module of this path runs programs that are written in another language than the module."""
    return _RUNTIMES.match(os.path.basename(path)) is not None or _STANDARD_MODULES.search(path) is not None


def is_of_program(path: str) -> bool:
    """Whether the module of this path has code of the program itself, and not of a runtime or of the distribution."""
    return not is_runtime(path) and not path.startswith(_DISTRIBUTION)


class Places:
    """The places of a recording's calls; each stack is looked up once."""

    def __init__(self, modules: Sequence[Module], symbolizer: Symbolizer) -> None:
        self._modules = modules
        self._symbolizer = symbolizer
        self._known: dict[tuple[tuple[int, int], ...], list[Frame]] = {}

    def frames(self, stack: tuple[tuple[int, int], ...]) -> list[Frame]:
        """The frames of the program, innermost first, without those of runtimes and of the distribution."""
        if stack not in self._known:
            own = [frame for frame in stack if is_of_program(self._modules[frame[0]].path)]
            frames = self._symbolizer.stack(self._modules, own) if own else []
            self._known[stack] = [frame for frame in frames if not frame.function.startswith(_MARK)]
        return self._known[stack]

    def place(self, stack: tuple[tuple[int, int], ...]) -> str:
        """The line that a person should look at, with its function; without lines the function alone; else empty."""
        frame = site_frame(self.frames(stack))
        if frame is None:
            return ""
        function = _RUST_HASH.sub("", function_name(frame.function))
        return frame.place if frame.function == "??" else f"{function}, {frame.place}"
