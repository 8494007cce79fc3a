"""A smaller pool.

Keys and values keep the sizes of the scenario. Other sizes may take other ways through the code of the target, or
nobody promised to serve them. The case would then show another bug.
"""

from dataclasses import replace

from powercut.minimise.search import Search

_PAGE = 4096


def shrink_pool(search: Search) -> None:
    """A pool of half the size as often as it does."""
    while (half := search.best.pool_size // 2 // _PAGE * _PAGE) >= _PAGE:
        if not search.consider(replace(search.best, pool_size=half)):
            break
