"""The smallest part of a list that still shows something.

First the items that matter are looked for from the end, each by bisection: where few of many do, that is nearly all of
the work. Where more of a list always shows what less of it did, no item can be missed then. Elsewhere more may go: so
delta debugging follows (Zeller and Hildebrandt, *Simplifying and Isolating Failure-Inducing Input*, IEEE TSE 28(2),
2002: ddmin, without the tests of single parts, which are the complements of others or too little).
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

Item = TypeVar("Item")


def ddmin(items: Sequence[Item], shows: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    """A part of `items`, in their order, that `shows`, and of which no single item can be missed.

    `items` themselves show. A part that shows is the smallest so far. `shows` may be asked of one part again.
    """
    best = _those_that_matter(tuple(items), shows)
    parts = 2
    while len(best) > 1:
        bounds = [len(best) * number // parts for number in range(parts + 1)]
        # From the end: earlier operations made later ones possible.
        for first, end in reversed(list(pairwise(bounds))):
            rest = best[:first] + best[end:]
            if shows(rest):
                best, parts = rest, max(parts - 1, 2)
                break
        else:
            if parts >= len(best):
                return best
            parts = min(2 * parts, len(best))
    return () if best and shows(()) else best


def _those_that_matter(items: tuple[Item, ...], shows: Callable[[tuple[Item, ...]], bool]) -> tuple[Item, ...]:
    kept: tuple[Item, ...] = ()
    # `items` and `kept` together show; so do, in the loop below, the first `high` of them and `kept`.
    while items:
        low, high = 0, len(items)
        while low < high:
            middle = (low + high) // 2
            if shows(items[:middle] + kept):
                high = middle
            else:
                low = middle + 1
        if high == 0:
            break
        items, kept = items[: high - 1], (items[high - 1], *kept)
    return kept
