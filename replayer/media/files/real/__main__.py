"""`python -m replayer.media.files.real FOLDER TAG SYSTEM`: the worker of a guardian. Jobs come as lines of JSON on
stdin, and each is answered by a line on stdout."""

from __future__ import annotations

import json
import sys
import traceback
from pathlib import Path

from .rig import Job, Result, Rig


def main(folder: str, tag: str, system: str) -> int:
    with Rig(Path(folder), tag, system) as rig:
        for line in sys.stdin:
            job = Job(**json.loads(line))
            try:
                result = rig.run(job)
            except Exception:
                result = Result(job.test or f"random program {job.seed}", error=traceback.format_exc())
            print(json.dumps(result.to_json()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
