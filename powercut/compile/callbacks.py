"""Options for a compiler without a plugin: it calls back before each access, as with -fsanitize=thread.

Only the compiler proper hears of the sanitizer: the driver would link the sanitizer's own runtime, and ours stands
behind the callbacks (tracer/runtime/hooks/callbacks.cc). For what has no callback there are headers
(targets/include/powercut/callbacks), and the C library's functions stay calls: instructions in their place would be
seen by nobody.
"""

from powercut.base import paths
from powercut.compile.compilers import LOST_BY_CALLBACKS, Compiler

#: Functions of the C library that store; targets/include/powercut/callbacks.h declares each of them.
REPLACED = (
    *("memcpy", "memmove", "mempcpy", "memset", "bcopy", "bzero"),
    *("strcpy", "stpcpy", "strncpy", "stpncpy", "strcat", "strncat"),
    *("sprintf", "snprintf", "vsprintf", "vsnprintf"),
)
#: Behind the program's own options: the checked variants of those functions become builtins again.
LAST = ("-U_FORTIFY_SOURCE",)


def options(compiler: Compiler) -> list[str]:
    """In front of the program's own options."""
    headers = paths.include_dir() / "powercut"
    sanitizer = (
        [f"-specs={headers / 'callbacks' / 'gcc.specs'}"]
        if compiler.kind == "gcc"
        else ["-Xclang", "-fsanitize=thread"]
    )
    return [
        *sanitizer,
        "-isystem",
        f"{headers / 'callbacks'}",
        "-include",
        f"{headers / 'callbacks.h'}",
        *(f"-fno-builtin-{name}" for name in REPLACED),
        # A caller that left by a jump would be missing from the stacks.
        "-fno-optimize-sibling-calls",
    ]


def said_of(compiler: Compiler) -> str:
    """Names the losses of callbacks, in one line."""
    return (
        f"{compiler.kind} {compiler.major} has no plugin and instruments by -fsanitize=thread: {LOST_BY_CALLBACKS}. "
        "The verdict will say so"
    )
