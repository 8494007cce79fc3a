"""A smaller pool, and the shortest keys and values."""

from dataclasses import replace

from powercut.minimise.search import Search

_PAGE = 4096
#: Shorter keys or values could coincide (scenarios/SCHEMA.md).
_SHORTEST = 8


def shrink_sizes(search: Search) -> None:
    """Eight bytes for keys and values, and a pool of half the size as often as it does."""
    best = search.best
    if not search.consider(replace(best, key_size=_SHORTEST, value_size=_SHORTEST)):
        search.consider(replace(best, key_size=_SHORTEST))
        search.consider(replace(search.best, value_size=_SHORTEST))
    while (half := search.best.pool_size // 2 // _PAGE * _PAGE) >= _PAGE:
        if not search.consider(replace(search.best, pool_size=half)):
            break
