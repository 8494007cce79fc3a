"""Items in LMDB: `items.py setup|run|check|dump FOLDER [COUNT]`.

`run` puts COUNT items, each in a transaction of its own, and prints `stored KEY` when LMDB has committed it. `check` is
the restart: it reads all items.
"""

import sys

import lmdb

verb, folder, *count = sys.argv[1:]
# One process at a time needs no lock file, whose mapping would be stores that no call tells.
items = lmdb.open(folder, map_size=1 << 20, lock=False, sync="NOSYNC" not in count)
count = [word for word in count if word.isdecimal()]


def put(key: str, value: str) -> None:
    with items.begin(write=True) as transaction:
        transaction.put(key.encode(), value.encode())


if verb == "setup":
    put("first", "one")
elif verb == "run":
    for number in range(int(*count or "3")):
        put(f"key {number}", "value " * 20)
        print("stored", number, flush=True)
else:
    with items.begin() as transaction:
        for key, value in transaction.cursor():
            if verb == "dump":
                print(key.decode(), value.decode())
items.close()
