"""Functions that flush or fence for their callers: a site is the line that calls them.

A flush that does nothing is a mistake of its caller, and `persist()` of a source file has a hundred callers. A helper
with a usual name is known by its name. Another function is a helper if, in the whole run, neither the function nor its
callees store to the pool. It must flush or fence, and several places must call it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise

from powercut.engine.events import Module
from powercut.symbols.symbolize import Frame, Symbolizer
from powercut_records import places

#: Globs of names of functions that flush or fence, and do nothing else.
USUAL = (
    *("persist", "persist_range", "persist_obj", "persist_object", "persistent_barrier", "flush", "flush_range"),
    *("flush_fence", "flush_and_fence", "fence", "drain", "barrier", "memory_barrier", "cache_flush", "clear_cache"),
    *("clwb*", "clflush*", "cflush", "sfence", "mfence", "mm_clwb", "mm_clflush", "mm_sfence"),
    *("asm_clwb", "asm_clflush*", "asm_sfence", "asm_mfence", "pmem_persist", "pmem_flush", "pmem_drain"),
    *("pmemobj_persist", "pmemobj_flush", "pmemobj_drain"),
    *("pmem_deep_*", "pmem_msync", "pmem_memcpy*", "pmem_memmove*", "pmem_memset*", "pmemobj_mem*", "pmemobj_xflush"),
    *("pmem_clwb*", "pmem_clflush*", "pmem_fence", "pmem_sfence", "pmem_wmb", "wmb", "persist_fence"),
)


_C_LIBRARY = ("libc.", "libc-", "ld-linux", "libstdc++.")
_MEMORY_FUNCTIONS = ("__memmove_", "__memcpy_", "__memset_", "__mempcpy_")
#: PMDK's libraries: they change a pool for their caller, also where they were built with line numbers.
_PMDK = ("libpmem.", "libpmem2.", "libpmemobj.", "libpmemlog.", "libpmemblk.", "libpmempool.")


class FlushOnly:
    """The functions of a run that flush or fence for several callers and never store."""

    def __init__(self, stores: Iterable[Sequence[Frame]], flushes: Iterable[Sequence[Frame]]) -> None:
        self._storing = {_function(frame) for frames in stores for frame in frames}
        self._callers: dict[tuple[str, str], set[tuple[tuple[str, str], str]]] = defaultdict(set)
        for frames in flushes:
            for frame, caller in pairwise(frames):
                self._callers[_function(frame)].add((_function(caller), caller.place))

    def __call__(self, frame: Frame) -> bool:
        function = _function(frame)
        return function not in self._storing and len(self._callers.get(function, ())) > 1


def flush_only(
    stores: Iterable[tuple[int, int]],
    flushes: Iterable[Sequence[tuple[int, int]]],
    modules: Sequence[Module],
    symbolizer: Symbolizer,
) -> FlushOnly:
    """Returns the helpers of a run, by the frames of its stores and the call stacks of its flushes and fences."""
    return FlushOnly(
        (symbolizer.stack(modules, [frame]) for frame in stores),
        (symbolizer.stack(modules, stack) for stack in flushes),
    )


def _function(frame: Frame) -> tuple[str, str]:
    return frame.function, frame.start_file or frame.module


def outside(
    frames: Sequence[Frame],
    helpers: Sequence[str] = (),
    *,
    usual: Sequence[str] = USUAL,
    flushes: Callable[[Frame], bool] = lambda frame: False,
) -> Sequence[Frame]:
    """The frames from the caller of the outermost helper on, of those that the access was made through.

    `helpers` are names or globs, beside the `usual` ones; `flushes` tells helpers by what they do. Functions of PMDK's
    libraries always count. Frames of powercut's own helpers may stand before a helper's. Without a caller the helper
    itself is the place. A program without line numbers is told by the names of its functions alone.
    """
    user = [at for at, frame in enumerate(frames) if frame.belongs_to_user]
    user = user or [at for at, frame in enumerate(frames) if frame.site is None and not frame.in_library]
    passed = 0
    for at in user:
        frame = frames[at]
        named = any(_is_named(frame.function, helper) for helper in (*usual, *helpers))
        if not named and not frame.module.startswith(_PMDK) and not flushes(frame):
            break
        passed = at + 1
    return frames[passed:] if any(at >= passed for at in user) else frames


def is_for_ordinary_memory(frame: places.Frame) -> bool:
    """Whether a fence of this innermost frame is one of the C library's memory functions, which stream large copies.

    In the shared library these have no names; a sync, which is one of its system calls, has.
    """
    if frame.module.startswith(_C_LIBRARY):
        return "sync" not in frame.function
    return frame.function.startswith(_MEMORY_FUNCTIONS)


def _is_named(function: str, helper: str) -> bool:
    """Whether a function as the symboliser prints it, with its arguments or without, fits a glob of a helper."""
    bare = function.partition("(")[0]
    return any(fnmatchcase(name, helper) for name in (function, bare, bare.rpartition("::")[2]))
