"""Random programs with plain racy loads and stores leave the same with all savings of the search and without them.

The slow way switches threads before every use of a word that threads share. It is thus a reference for the uses that
race (replayer/SCHEDULES.md, "Which uses are visible").
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from random import Random
from typing import Any

from powercut.base import paths

PROGRAMS = 40
#: Key numbers whose programs differ.
KEYS = 100_000


def searched(threads: list[list[int]], folder: Path, **search: Any) -> dict[str, Any]:
    """The result of the search for inserts of these keys (checker/testdata/racing_words.cc)."""
    steps = [[{"op": "insert", "keys": [key]} for key in keys] for keys in threads]
    plan = {
        "plan": 1,
        "target": {
            "library": str(paths.library_dir() / "test" / "libtest-racing-words.so"),
            "name": "racing-words",
            "variant": "published",
            "options": {},
        },
        "scenario": {
            "name": "racing",
            "pool_size": 4096,
            "key_size": 8,
            "value_size": 8,
            "expect_marks": [],
            "phases": [{"name": "race", "explore": True, "cut_at": None, "threads": steps}],
        },
        "search": {"kind": "bounded", "preemptions": None, "schedules": 0, "model": "adr", **search},
        "seed": 1,
    }
    file, trace = folder / "plan.json", folder / "trace.pct"
    file.write_text(json.dumps(plan), encoding="utf-8")
    words = [paths.engine(), "record", "--plan", str(file), "--trace", str(trace)]
    done = subprocess.run(words, capture_output=True, text=True)
    (recorded,) = [event for line in done.stdout.splitlines() if (event := json.loads(line))["event"] == "recorded"]
    counts: dict[str, Any] = recorded["schedules"]
    assert counts["complete"], counts
    return counts


def test_races_of_plain_loads_are_found(real_engine: None, tmp_path: Path) -> None:
    random = Random(7)
    frontiers = set()
    for _ in range(PROGRAMS):
        threads = [[random.randrange(1, KEYS) for _ in range(random.choice((1, 1, 2)))] for _ in range(2)]
        slow, fast = (searched(threads, tmp_path, slow=slowly) for slowly in (True, False))
        assert fast["frontiers"] == slow["frontiers"], threads
        frontiers.add(slow["frontiers"])
    assert len(frontiers) > 10
