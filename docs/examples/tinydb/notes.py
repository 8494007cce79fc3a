"""Notes in a TinyDB: `notes.py add FILE TEXT...`, `notes.py drop FILE`, `notes.py check FILE`."""

import sys

from tinydb import TinyDB

verb, file, *texts = sys.argv[1:]
notes = TinyDB(file)
if verb == "add":
    notes.insert_multiple({"text": text} for text in texts)
elif verb == "drop":
    notes.remove(doc_ids=[len(notes)])
else:
    assert all(note["text"] for note in notes)
