"""Makes the calls of a program in a folder that has the tree of its start: `recorded_program.py FOLDER PROGRAM`.

PROGRAM is a file of JSON: {"unit": bytes of a sector, "calls": [calls], "start": how many of them make the start}.
"""

import json
import sys
from pathlib import Path

from replayer.media.files.calls import Call
from replayer.media.files.real.folder import Folder


def main() -> None:
    program = json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
    calls = [Call.from_json(record) for record in program["calls"]]
    folder = Folder(Path(sys.argv[1]), program["unit"], keeps_open=True)
    for call in calls[: program["start"]]:
        if call.op == "entry":
            folder.names[call.folder, call.name] = call.inode
    for call in calls[program["start"] :]:
        folder.make(call)
    folder.close()


if __name__ == "__main__":
    main()
