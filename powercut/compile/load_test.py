"""Whether a compiler instruments what it compiles: a few lines are compiled, and the object is looked at.

A plugin that lies there may be of another minor version than the compiler, or broken; only loading it shows that.
"""

import subprocess
import tempfile
from pathlib import Path

from powercut.compile import cc
from powercut.compile.compilers import Compiler

_SOURCE = "void powercut_load_test(int *place) { *place = 1; }\n"
#: Symbols that the object of an instrumenting compiler must call for its one store.
_HOOK, _CALLBACK = b"__powercut_store", b"__tsan_write4"
_SECONDS = 60


def problem(compiler: Compiler) -> str:
    """Returns the fault in the compiler's instrumentation, for people; "" when its objects call the hooks."""
    with tempfile.TemporaryDirectory(prefix="powercut-load-test.") as folder:
        source, built = Path(folder) / "part.c", Path(folder) / "part.o"
        source.write_text(_SOURCE, encoding="utf-8")
        command = cc.command_of(compiler, ["-c", str(source), "-o", str(built)])
        try:
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                timeout=_SECONDS,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"does not run ({getattr(error, 'strerror', None) or 'no end within a minute'})"
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            return f"fails: {said[0][:200]}" if said else f"fails with exit status {done.returncode}"
        hook = _HOOK if compiler.plugin else _CALLBACK
        return "" if hook in built.read_bytes() else "compiles, but puts no hook before a store"
