"""Items in SQLite: `items.py setup|run|check|dump FOLDER JOURNAL SYNCHRONOUS [COUNT]`.

JOURNAL and SYNCHRONOUS are the values of SQLite's pragmas journal_mode and synchronous. `run` puts COUNT items, each in
a transaction of its own, and prints `stored KEY` when SQLite has committed it. `check` is the restart.
"""

import sqlite3
import sys

verb, folder, journal, synchronous, *count = sys.argv[1:]
items = sqlite3.connect(f"{folder}/items.db", isolation_level=None)
if journal == "WAL":
    # Without another process the index of a WAL needs no file: what it maps would be stores that no call tells.
    items.execute("PRAGMA locking_mode = EXCLUSIVE")
items.execute(f"PRAGMA journal_mode = {journal}")
items.execute(f"PRAGMA synchronous = {synchronous}")
if verb == "setup":
    items.execute("CREATE TABLE items (key TEXT PRIMARY KEY, value TEXT)")
    items.execute("INSERT INTO items VALUES ('first', 'one')")
elif verb == "run":
    for number in range(int(*count or "3")):
        items.execute("INSERT INTO items VALUES (?, ?)", (f"key {number}", "value " * 20))
        print("stored", number, flush=True)
elif verb == "check":
    ((answer,),) = items.execute("PRAGMA integrity_check")
    if answer != "ok":
        sys.exit(answer)
else:
    for key, value in items.execute("SELECT * FROM items ORDER BY key"):
        print(key, value)
items.close()
