"""The reference takes a medium that no other file names, and a tape leaves the prefixes of what was appended."""

from __future__ import annotations

from random import Random

import pytest

from replayer.media.tape.reference import MODELS
from replayer.reference.media import crash_points, rules_of
from replayer.reference.program import Event, Program, ProgramError

PROGRAMS, MOST_EVENTS, LINE = 200, 12, 64


def word(count: int) -> bytes:
    """The first word of the pool: the number of blocks."""
    return count.to_bytes(8, "little")


@pytest.mark.parametrize("seed", range(4))
def test_every_cut_leaves_the_prefixes_and_nothing_else(seed: int) -> None:
    random = Random(seed)
    for _ in range(PROGRAMS):
        kinds = [random.choice(("append", "append", "rewind")) for _ in range(random.randint(1, MOST_EVENTS))]
        events, counts = [], [(0, 0)]  # after each event: blocks at the last rewind, and now
        for kind in kinds:
            rewound, now = counts[-1]
            if kind == "append":
                events.append(Event("store", data=word(now + 1)))
                counts.append((rewound, now + 1))
            else:
                events.append(Event("fence", kind="device"))
                counts.append((now, now))
        program = Program("tape", "any", tuple(events), LINE)
        points = crash_points(program, rules_of(program, MODELS))
        assert points and points[-1].index == len(events) - 1
        for point in points:
            rewound, now = counts[point.index + (point.side == "after")]
            prefixes = [word(count).ljust(LINE, b"\0") for count in range(rewound, now + 1)]
            assert point.states == len(prefixes)
            assert point.lines.get(0, prefixes) == prefixes


def test_no_other_model_and_no_foreign_instruction_is_taken() -> None:
    program = Program("tape", "any", (Event("flush", kind="clwb"),), LINE)
    with pytest.raises(ProgramError, match="unknown; use adr, eadr, block, flash"):
        rules_of(program)
    with pytest.raises(ProgramError, match="no instruction of the model tape"):
        rules_of(program, MODELS)
