"""The tracer that records a program, and its demands on the program."""

import os
from collections.abc import Sequence

from powercut.base.errors import UsageError, unknown_name
from powercut.program.binary import Binary

#: Tracers of program mode, and what each records.
TRACERS = {
    "llvm": "programs built with 'powercut cc' or 'powercut c++' (the default for these)",
    "valgrind": "any x86-64 program, as it was built (the default for all others)",
    "pmemcheck": "the same with the pmem fork of Valgrind, where it is installed",
    "pin": "the same with Intel Pin, where a kit is installed",
}

#: Programs that start others: the started program counts.
STARTERS = ("sh", "bash", "dash", "zsh", "env", "find", "xargs", "nice", "timeout", "taskset", "stdbuf", "setsid")


def choose(name: str | None, binary: Binary, *, command: Sequence[str]) -> str:
    """The tracer to use. UsageError when it cannot record this program."""
    where = f"--record {command[0]}"
    if name is not None and name not in TRACERS:
        raise unknown_name("tracer", name, TRACERS, list_command="powercut run --help-all")
    if binary.kind == "elf" and binary.bits == 32:
        raise UsageError(
            "this is a 32-bit program; powercut records 64-bit x86 programs only",
            where=where,
            next_step="Build it for x86-64 (without -m32).",
        )
    if binary.kind == "elf" and not binary.x86_64:
        raise UsageError(
            "this program is for another processor", where=where, next_step="Build it for x86-64 and record that."
        )
    if name is None:
        # The compiler pass does not see the stores and flushes of PMDK's own libraries.
        return "llvm" if binary.traced_by_llvm and not binary.libraries_that_flush else "valgrind"
    starts_another = os.path.basename(command[0]) in STARTERS
    if name == "llvm" and binary.kind == "elf" and not binary.traced_by_llvm and not starts_another:
        raise UsageError(
            "this program was not built with 'powercut cc' or 'powercut c++', so the llvm tracer hears nothing of it",
            where=where,
            next_step="Build it with CC='powercut cc', or leave --tracer out: Valgrind records it as it is.",
        )
    return name
