"""Numbers of known bugs that the pages name are those of the corpus."""

import re
from pathlib import Path

from powercut.scenarios import catalog
from powercut.scenarios.steps import KeyStep

ROOT = Path(__file__).parents[2]


def numbers(page: str, sentence: str) -> list[int]:
    """The numbers in a sentence of a page; `sentence` is a pattern with a group for each."""
    text = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
    (found,) = re.findall(sentence, text)
    return [int(number) for number in ([found] if isinstance(found, str) else found)]


def operations(step: object) -> int:
    if not isinstance(step, KeyStep):
        return 1
    return len(step.keys) if step.keys is not None else 1 + (step.last or 0) - (step.first or 0)


def test_counts_of_known_bugs() -> None:
    bugs = catalog.known_bugs()
    threads = [
        [sum(map(operations, thread)) for thread in bug.content.race.threads] for bug in bugs if bug.content.race
    ]
    single = [lengths for lengths in threads if max(lengths) == 1 and len(lengths) == 2]
    small = [lengths for lengths in threads if max(lengths) <= 2 and len(lengths) == 2]
    assert numbers("README.md", r"have (\d+) planted bugs") == [len(bugs)]
    assert numbers("docs/comparison.md", r"two operations each at most, finds (\d+) of the known bugs") == [len(small)]
    said = numbers("docs/threads.md", r"There are (\d+) \[known bugs\]\S* with threads; (\d+) of them need no more")
    assert said == [len(threads), len(single)]
    assert len(threads) - len(small) == 2, "docs/threads.md: two need more than two operations in each of two threads"
