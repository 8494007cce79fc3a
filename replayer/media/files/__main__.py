"""`python -m replayer.media.files`: judges the reference of files by its litmus tests, for `powercut litmus`.

One profile's name per line of JSON on stdin, one answer per line on stdout: the number of tests, and for each that
fails its name and its fault.
"""

from __future__ import annotations

import json
import sys

from powercut.models import profiles

from .litmus import load


def main() -> int:
    tests = load()
    for line in sys.stdin:
        profile = profiles.named(json.loads(line)["profile"])
        faults = [[test.name, fault] for test in tests if (fault := test.fault(profile)) is not None]
        print(json.dumps({"tests": len(tests), "faults": faults}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
