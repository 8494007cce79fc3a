"""The whole pool at once: subsets of *all* atoms of all lines, nothing assumed about lines.

`replayer/media/memory/reference.py` judges line by line and multiplies. This module does not. A tiny program that gives
the same images both ways is evidence for "lines are independent", on which the engine's speed rests.
"""

from __future__ import annotations

from itertools import combinations

from replayer.media.memory.reference import Adr

from .atoms import Atom, content


def whole_images(model: Adr) -> set[bytes]:
    """Every legal image of the whole pool at this instant."""
    atoms = model.visible
    images = set()
    for size in range(len(atoms) + 1):
        for persisted in combinations(atoms, size):
            if _legal(model, set(persisted)):
                images.add(content(0, model.program.pool_size, list(persisted)))
    return images


def _legal(model: Adr, persisted: set[Atom]) -> bool:
    if not model.durable_now() <= persisted:
        return False
    return all(a in persisted for b in persisted for a in model.visible if model.precedes(a, b))
