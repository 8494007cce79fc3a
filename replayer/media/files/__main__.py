"""`python -m replayer.media.files [ENGINE]`: judges the engine, or the reference, by the litmus tests of files.

`powercut litmus` asks it.
One profile's name per line of JSON on stdin, one answer per line on stdout: the number of tests, and for each that
fails its name and its fault.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from powercut.models import profiles

from .engine import EngineTrees
from .litmus import Judge, load
from .reference import trees_after


def main() -> int:
    if len(sys.argv) > 1:
        with EngineTrees(Path(sys.argv[1])) as engine:
            answer(engine.trees_after)
    else:
        answer(trees_after)
    return 0


def answer(judge: Judge) -> None:
    tests = load()
    for line in sys.stdin:
        profile = profiles.named(json.loads(line)["profile"])
        faults = [[test.name, fault] for test in tests if (fault := test.fault(profile, judge=judge)) is not None]
        print(json.dumps({"tests": len(tests), "faults": faults}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
