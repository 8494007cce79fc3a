"""`python -m replayer.reference`: the reference behind the same interface as `powercut-engine model`.

One program per line of JSON on stdin, one answer per line on stdout, in order.
"""

from __future__ import annotations

import json
import sys

from replayer.media.nor import parts

from . import store_buffers, threads
from .media import answer
from .program import Program, ProgramError


def main() -> int:
    for number, line in enumerate(sys.stdin, start=1):
        if not line.strip():
            continue
        try:
            request = json.loads(line)
            if "threads" in request:
                judge = store_buffers if request.get("visibility") == "tso" else threads
                result = judge.answer(threads.Threads.from_json(request))
            elif "part" in request:
                result = parts.answer(request)
            else:
                result = answer(Program.from_json(request))
        except (ProgramError, KeyError, ValueError) as error:
            print(f"stdin:{number}: {error}", file=sys.stderr)
            return 2
        print(json.dumps(result), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
