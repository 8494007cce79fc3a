"""One operation fewer with other keys, where the search has ended above a handful of operations.

Keys that meet in a bucket of a hash table fill the bucket. The finding's own keys are mostly spread, so the search ends
with inserts that fill the neighbours as well; with keys that meet, these inserts could go. Only the hash functions know
which keys meet, so cases are drawn. Some cases are as long as the best one, with one key exchanged. Where the bug
shows, the next ones are drawn from there, since two exchanges may be needed before an operation can go. The other cases
are without one operation, with one key exchanged or (in a short case) with all keys new. Now and then one setting of
the table is changed as well. The draws follow from the case and from the target's options: the same input gives the
same answer.

Known limit: it ends after a number of draws. A smaller case may exist where it found none.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

from powercut.minimise.case import Case, Key, runnable
from powercut.minimise.order import FEW, is_number
from powercut.minimise.passes.configure import smaller_values
from powercut.minimise.search import Search

#: Draws without a smaller case, after which it is given up.
_DRAWS = 600
#: Keys are drawn from 1 to this, or to three times the number of operations.
_KEYS = 48
#: In a longer case not all keys are new: too much would have to come together.
_SHORT = 8
#: How many of the draws are as long as the best case, and how many of the others have another setting.
_AS_LONG, _CONFIGURED = 0.4, 0.3


def other_keys(search: Search, options: Mapping[str, Sequence[str]]) -> None:
    """Leaves operations out one at a time, with other keys in those that stay; `options` as in `shrink_options`."""
    while len(search.best.operations) > FEW and _shorter(search, options):
        pass


def _shorter(search: Search, options: Mapping[str, Sequence[str]]) -> bool:
    """Whether a case with fewer operations was drawn; it is the best one then."""
    now = search.best
    draw = random.Random(len(now.operations))
    settings = {name: others for name, values in options.items() if (others := _others(now.option(name), values))}
    for _ in range(_DRAWS):
        if draw.random() < _AS_LONG:
            other = _with_another_key(now, draw)
            if other == runnable(other) and search.examine(other).finding is not None:
                now = other
        elif search.consider(_drawn(now, settings, draw)):
            return True
    return False


def _drawn(now: Case, settings: Mapping[str, Sequence[str]], draw: random.Random) -> Case:
    """`now` without one operation, with other keys."""
    number = draw.randrange(len(now.operations))
    case = now.without(number, number + 1)
    if settings and draw.random() < _CONFIGURED:
        name = draw.choice(list(settings))
        case = case.with_option(name, draw.choice(settings[name]))
    if len(now.operations) <= _SHORT and draw.random() < 0.5:
        keys = _keys(case)
        return _renamed(case, dict(zip(keys, draw.sample(range(1, _most(case) + 1), len(keys)), strict=True)))
    return _with_another_key(case, draw) if draw.random() < 0.8 else case


def _with_another_key(case: Case, draw: random.Random) -> Case:
    """One key drawn again; where that is there already the two change places."""
    keys = _keys(case)
    if not keys:
        return case
    old, new = draw.choice(keys), draw.randint(1, _most(case))
    return _renamed(case, {old: new, new: old})


def _keys(case: Case) -> list[Key]:
    return list(dict.fromkeys(item.key for item in case.operations if item.key is not None))


def _most(case: Case) -> int:
    return max(_KEYS, 3 * len(case.operations))


def _renamed(case: Case, names: Mapping[Key, Key]) -> Case:
    return case.mapped(
        [item if item.key is None else replace(item, key=names.get(item.key, item.key)) for item in case.operations]
    )


def _others(now: str | None, values: Sequence[str]) -> list[str]:
    """Returns other values of an option: any number that the target names, smaller ones, and the next below."""
    current = now or (values[0] if values else "")
    if not is_number(current):
        return [value for value in values if value.isidentifier() and value != current]
    named = [value for value in values if is_number(value) and value != current]
    below = [str(int(current) - 1)] if int(current) > 1 else []
    return list(dict.fromkeys([*smaller_values(now, values), *named, *below]))
