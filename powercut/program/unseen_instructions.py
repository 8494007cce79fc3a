"""Instructions of persistence in inline assembly, which the callbacks of -fsanitize=thread do not see.

Headers lead the intrinsics into the runtime (targets/include/powercut/callbacks), and atomics are calls. Instructions
that flush, fence, stream or lock in such a program itself were therefore never announced. The trace may lack what makes
data durable, and a finding may be none.
"""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

_DISASSEMBLERS = ("objdump", "llvm-objdump", "llvm-objdump-19", "llvm-objdump-16")
_SECONDS = 120
#: Every object that was compiled so calls it.
_CALLBACK = b"__tsan_init"
_FUNCTION = re.compile(r"^[0-9a-f]+ <(?P<name>[^>]+)>:$")
_INSTRUCTION = re.compile(
    r"\t(?P<name>clwb|clflush(?:opt)?|[sm]fence|v?movnt(?!dqa)\w+|v?maskmov(?:q|dqu)|movdir\w+|enqcmds?|lock)\b"
    r"|\t(?P<swap>xchg)\w?\s[^\n]*\("
)


def sentences(program: Path) -> list[str]:
    """One sentence for what a program that was built with callbacks hides; none where it hides nothing."""
    if _CALLBACK not in program.read_bytes():
        return []
    disassembler = next((found for name in _DISASSEMBLERS if (found := shutil.which(name))), None)
    if disassembler is None:
        return []
    command = [disassembler, "-d", "--no-show-raw-insn", str(program)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return [f"{disassembler} cannot read {program}: whether inline assembly flushes or fences there is not known"]
    hidden = list(_found(done.stdout))
    if not hidden:
        return []
    names = Counter(name for name, _ in hidden)
    counted = ", ".join(f"{count} {name}" for name, count in sorted(names.items()))
    return [
        f"inline assembly of {program.name} has {counted} (first in {hidden[0][1]}), which -fsanitize=thread does not "
        "see: use the compiler's intrinsics, or a compiler with a plugin ('powercut doctor' lists them)"
    ]


def _found(listing: str) -> Iterator[tuple[str, str]]:
    """(instruction, function), in the order of the program."""
    function = "?"
    for line in listing.splitlines():
        if begin := _FUNCTION.match(line):
            function = begin["name"]
        elif instruction := _INSTRUCTION.search(line):
            yield instruction["name"] or instruction["swap"], function
