"""Brute-force reference of the persistency models, written apart from the engine to disagree with it.

It enumerates subsets of atoms and filters them; the engine computes chains and floors. Hypothesis compares the two
on random programs (`replayer/tests`), and the litmus suite holds both to outcomes that were worked out by hand.
"""

from .crashes import CrashPoint, answer, crash_points, point_now
from .models import MAX_UNDECIDED, Adr, Eadr
from .program import Event, Program, ProgramError
from .whole import whole_images

__all__ = [
    "MAX_UNDECIDED",
    "Adr",
    "CrashPoint",
    "Eadr",
    "Event",
    "Program",
    "ProgramError",
    "answer",
    "crash_points",
    "point_now",
    "whole_images",
]
