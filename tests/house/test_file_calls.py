"""The table of the system calls on files: each tracer handles every kind of call, or is named here with the reason.

A tracer switches over what a call does and passes over the rest. A kind that is new in the table fails for every tracer
without a case for the kind. A line below may say instead why the tracer needs none.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "tracer" / "file_calls" / "file_calls.h"

_BY_STATUS = "a pool is recognised by the status of its file when the file is next used"
_NAMES = "Makes TakesFolder Hides"
_LOOKS = "Looks LooksAtLink Lists"

#: Tracer → the files that dispatch, and by reason the kinds that none of the files names.
TRACERS: dict[str, tuple[str, dict[str, str]]] = {
    "valgrind, pools": (
        "tracer/valgrind/files/calls.c tracer/valgrind/files/file_reads.c tracer/valgrind/files/file_calls.c",
        {
            "promises no durability": "SyncsRange",
            "the core keeps the stream's descriptor out of reach": "Closes",
            _BY_STATUS: _NAMES,
            "changes no bytes of a pool": _LOOKS,
        },
    ),
    "valgrind, devices": (
        "tracer/valgrind/files/device.c tracer/valgrind/files/file_calls.c",
        {
            "reads are recorded where the file is a pool": "Reads",
            "promises no durability": "SyncsRange",
            "writable mappings of a device are refused": "SyncsMemory",
            "the position is asked for after a write": "Seeks",
            "the core keeps the stream's descriptor out of reach": "Closes",
            _BY_STATUS: _NAMES,
            "changes no bytes of a device": _LOOKS,
            "calls.c goes on with the stream in the new program": "Executes",
            "the file is compared with the recording at the end": "Controls",
        },
    ),
    "pin": (
        "tracer/pin/pool_effects.cc",
        {
            "changes no bytes of a pool": f"Protects {_LOOKS}",
            "promises no durability": "SyncsRange",
            "the position is asked for after a write": "Seeks",
            _BY_STATUS: f"Links Renames Takes {_NAMES}",
            "a known inaccuracy of the tool": "Controls Rings Submits",
        },
    ),
    "calls": (
        "tracer/calls/filter.cc tracer/calls/followed_call.cc",
        {
            "changes no file of the folder": f"Reads Seeks Closes {_LOOKS}",
            "a mapping is compared with the file when it is next synced or unmapped": "Remaps",
            "the kernel tells of a new program (PTRACE_EVENT_EXEC)": "Executes",
        },
    ),
    "reads of a run": (
        "tracer/runtime/reads/calls.cc",
        {
            "harmless by the list of the filter, or refused by number": "Copies Syncs SyncsRange SyncsAll SyncsMemory "
            f"Unmaps Remaps Protects Closes Links Renames Takes Rings Submits {_NAMES} {_LOOKS}"
        },
    ),
}
for _part in ("call_filter.c", "file_call.cc"):
    TRACERS[f"names of files, {_part}"] = (
        f"tracer/other_files/{_part}",
        {
            "is on a descriptor that a told call has opened": "Reads Writes Copies Allocates Syncs SyncsRange SyncsAll "
            "SyncsMemory Maps Unmaps Remaps Protects Seeks Closes Controls Submits"
        },
    )

#: Kinds that the runtime in front of the C library forwards: syscall(2) makes each such call by the function of its
#: name.
FORWARDED = "Writes Copies Allocates Resizes Syncs SyncsAll Opens Links Renames Takes Rings Submits"
NOT_FORWARDED = {"openat2": "the C library has no such function; the device is compared with the recording at its end"}


def rows() -> dict[str, str]:
    """The name of each call → what the call does."""
    found = re.findall(r"CALL\((\w+), \d+, kPowercut(\w+), ", TABLE.read_text(encoding="utf-8"))
    assert len(found) > 70
    return dict(found)


def kinds() -> set[str]:
    declared = re.search(r"enum powercut_call_does \{(.*?)\};", TABLE.read_text(encoding="utf-8"), re.DOTALL)
    assert declared
    found = set(re.findall(r"^  kPowercut(\w+)", declared[1], re.MULTILINE)) - {"NoFileCall"}
    assert found == set(rows().values()), "a kind without a call"
    return found


@pytest.mark.parametrize("tracer", TRACERS)
def test_each_tracer_handles_or_names_every_kind_of_call(tracer: str) -> None:
    files, reasons = TRACERS[tracer]
    passed = " ".join(reasons.values()).split()
    assert len(passed) == len(set(passed)), f"{tracer} names a kind twice"
    text = "".join((ROOT / name).read_text(encoding="utf-8") for name in files.split())
    handled = set(re.findall(r"(?:case |[!=]= )kPowercut(\w+)", text)) & kinds()
    assert len(handled) >= 5, f"{tracer} dispatches elsewhere"
    assert handled | set(passed) == kinds(), tracer
    assert not handled & set(passed), f"{tracer} handles what is named as passed over"


def test_the_runtime_forwards_each_call_that_a_device_must_hear_of() -> None:
    text = (ROOT / "tracer/runtime/calls/device_calls.cc").read_text(encoding="utf-8")
    forwarded = set(re.findall(r"case SYS_(\w+):", text))
    wanted = {name for name, kind in rows().items() if kind in FORWARDED.split()}
    assert forwarded == wanted - set(NOT_FORWARDED)
    assert set(NOT_FORWARDED) <= wanted


def test_no_tracer_has_numbers_of_its_own_for_calls_of_the_table() -> None:
    """Outside of the table a number stands only where two calls of one kind differ."""
    known = set(rows())
    allowed = {
        "tracer/other_files/file_call.cc": {"creat", "openat2"},
        "tracer/runtime/reads/calls.cc": None,  # the list of the filter and what goes with an address of a pool
        "tracer/valgrind/files/untold_writes.c": {"copy_file_range", "splice"},  # what one version of Valgrind forgets
    }
    dispatching = {name for files, _ in TRACERS.values() for name in files.split()} | set(allowed)
    for name in sorted(dispatching):
        text = (ROOT / name).read_text(encoding="utf-8")
        numbers = set(re.findall(r"\b(?:SYS|__NR)_(\w+)", text)) & known
        permitted = allowed.get(name, set())
        assert permitted is None or numbers == permitted, name
