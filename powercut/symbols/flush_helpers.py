"""Functions that flush or fence for their callers: a site is the line that calls them.

A flush that does nothing is a mistake of whoever asked for it, and `persist()` of a source file has a hundred callers.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from powercut.symbols.symbolize import Frame

#: Globs of names of functions that flush or fence, and do nothing else.
USUAL = (
    *("persist", "persist_range", "persist_obj", "persist_object", "persistent_barrier", "flush", "flush_range"),
    *("flush_fence", "flush_and_fence", "fence", "drain", "barrier", "memory_barrier", "cache_flush", "clear_cache"),
    *("clwb*", "clflush*", "cflush", "sfence", "mfence", "mm_clwb", "mm_clflush", "mm_sfence"),
    *("asm_clwb", "asm_clflush*", "asm_sfence", "asm_mfence", "pmem_persist", "pmem_flush", "pmem_drain"),
    *("pmemobj_persist", "pmemobj_flush", "pmemobj_drain"),
)


def outside(frames: Sequence[Frame], helpers: Sequence[str] = ()) -> Sequence[Frame]:
    """The frames from the caller of the outermost helper on, of those that the access was made through.

    `helpers` are names or globs, beside those of USUAL. Frames of powercut's own helpers may stand before a helper's.
    Without a caller the helper itself is the place.
    """
    user = [at for at, frame in enumerate(frames) if frame.belongs_to_user]
    passed = 0
    for at in user:
        if not any(_is_named(frames[at].function, helper) for helper in (*USUAL, *helpers)):
            break
        passed = at + 1
    return frames[passed:] if any(at >= passed for at in user) else frames


def _is_named(function: str, helper: str) -> bool:
    """Whether a function as the symboliser prints it, with its arguments or without, fits a glob of a helper."""
    bare = function.partition("(")[0]
    return any(fnmatchcase(name, helper) for name in (function, bare, bare.rpartition("::")[2]))
