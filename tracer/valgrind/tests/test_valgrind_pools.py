"""Which files count as pools, and how system calls change them."""

from pathlib import Path

from tracer.valgrind.tests.valgrind_runs import Build, record


def hexed(text: str) -> str:
    return text.encode().hex()


def test_mappings_writes_sizes_and_syncs(build: Build, tmp_path: Path) -> None:
    one, two, other = (tmp_path / name for name in ("one", "two", "other"))
    run = record([build("files", "-O2"), one, two, other], tmp_path, pools=[one, two])
    assert run.status == 0, run.stderr
    zeros = "00" * 64
    assert run.lines("store", "flush", "fence") == [
        "store 0 11000000",
        "store 8200 22000000",
        "store 20496 33000000",  # of the second file, behind the first one's greatest size
        "store 12312 44000000",
        f"store 64 {hexed('from a pipe')}",
        f"store 128 {hexed('written')}",
        f"store 192 {hexed('pwritten')}",
        f"store 256 {hexed('gathered')}",
        *(f"flush {line} clwb" for line in (0, 64, 128, 192, 256)),
        "fence sfence",
        "store 4096 55000000",
        *(f"flush {line} clwb" for line in (4096, 8192, 12288)),
        "fence sfence",
        *(f"flush {line} clflush" for line in (4096, 8192, 12288)),
        *(text for line in (4096, 8192, 12288) for text in (f"store {line} {zeros}", f"flush {line} clflush")),
        f"store 64 {'00' * 16}",
    ]
    pools = [(pool["path"], pool["offset"], pool["size"], pool["mapped"]) for pool in run.converted["pools"]]
    assert pools == [(str(one), 0, 20480, True), (str(two), 20480, 8192, True)]
    assert run.converted["notes"] == [{"kind": "private-mapping", "text": str(one)}]


def test_a_pool_is_found_by_whatever_name_it_is_opened(build: Build, tmp_path: Path) -> None:
    pool, link, hard = tmp_path / "pool", tmp_path / "link", tmp_path / "hard"
    pool.write_bytes(bytes(8192))
    link.symlink_to(pool)
    hard.hardlink_to(pool)
    for opened, named in ((link, pool), (hard, pool), (pool, link)):
        run = record([build("lives", "-O2"), opened, "exit"], tmp_path, pools=[named])
        # The first store may be the contents that the run before has left.
        assert run.lines("store")[-1] == "store 0 01000000", opened
        assert run.converted["stores"] == 1, opened


def test_the_contents_before_the_program_come_first(build: Build, tmp_path: Path) -> None:
    pool = tmp_path / "pool"
    pool.write_bytes(bytes(100) + b"old" + bytes(3000) + b"end" + bytes(8192 - 3106))
    run = record([build("lives", "-O2"), pool, "exit"], tmp_path, pools=[pool])
    stores = run.lines("store")
    assert stores[0] == f"store 64 {'00' * 36}{hexed('old')}{'00' * 25}"
    assert stores[-1] == "store 0 01000000"
    image = bytearray(8192)
    for event in run.events:
        if event["kind"] == "store":
            data = bytes.fromhex(event["bytes"])
            image[event["offset"] : event["offset"] + len(data)] = data
    assert bytes(image) == pool.read_bytes()


def test_a_program_that_never_maps_its_pool(build: Build, tmp_path: Path) -> None:
    run = record([build("lives", "-O2"), tmp_path / "pool", "exit"], tmp_path, pools=[tmp_path / "another"])
    assert run.status == 42
    assert run.lines("store") == []
    assert run.converted["stores"] == 0
    assert [pool["mapped"] for pool in run.converted["pools"]] == [False]


def test_requests_of_pmemcheck_and_of_mark_h(build: Build, tmp_path: Path) -> None:
    run = record([build("requests", "-O2")], tmp_path)
    assert run.status == 0, run.stderr
    assert run.lines("store", "nt-store", "flush", "fence", "marker", "op-begin", "op-end") == [
        f"store 3968 {'00' * 32}07000000{'00' * 28}",
        *("store 0 01000000", "flush 0 clwb", "fence sfence"),
        *("store 64 02000000", "flush 64 clwb", "fence sfence"),
        *("store 128 03000000", "flush 128 clwb", "flush 192 clwb", "fence sfence"),
        *("store 128 04000000", "flush 128 clwb"),
        "nt-store 256 0500000000000000",
        "marker logged",
        "op-begin insert",
        "marker inside",
        "op-end OK",
        "op-begin maintain expand",
        "op-end UNSUPPORTED",
    ]
    begin = next(event for event in run.events if event["kind"] == "op-begin")
    assert (begin["key"], begin["value"]) == (hexed("key"), hexed("value"))
    end = next(event for event in run.events if event["kind"] == "op-end")
    assert end["value"] == hexed("answer")
