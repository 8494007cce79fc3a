"""Ranges of chunks: every chunk once, whatever the number of parts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powercut.base.errors import UsageError
from powercut.engine.events import Chunks
from powercut.machines.ranges import Range, crash_points, cut, key_of, missing, share
from powercut.machines.shards import Shard, parse_shard


def listed(sizes: list[int]) -> Chunks:
    firsts = [sum(sizes[:number]) for number in range(len(sizes))]
    return Chunks(event="chunks", library="", identity={}, firsts=firsts, crash_points=sum(sizes), events=9)


def numbers(ranges: list[Range]) -> list[int]:
    return [chunk for each in ranges for chunk in range(each.first, each.end)]


@given(st.lists(st.integers(1, 50), max_size=30), st.integers(1, 12), st.integers(1, 100))
def test_a_cut_has_each_chunk_once_and_no_part_is_too_short(sizes: list[int], parts: int, least: int) -> None:
    chunks = listed(sizes)
    ranges = cut(chunks, missing(len(sizes), []), parts=parts, least=least)
    assert numbers(ranges) == list(range(len(sizes)))
    assert len(ranges) <= parts + 1
    assert all(crash_points(chunks, each) >= least for each in ranges[:-1])


@given(st.integers(0, 40), st.integers(1, 9))
def test_shares_have_each_chunk_once(count: int, of: int) -> None:
    assert numbers([share(count, index=index, of=of) for index in range(1, of + 1)]) == list(range(count))


@given(st.integers(0, 20), st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6))
def test_what_is_missing_is_what_no_range_has(count: int, pairs: list[tuple[int, int]]) -> None:
    done = [Range(min(pair), max(pair)) for pair in pairs if max(pair) <= count]
    assert numbers(missing(count, done)) == sorted(set(range(count)) - set(numbers(done)))


def test_a_key_is_of_all_that_decides_the_result() -> None:
    identity = {"trace": "a", "model": "adr"}
    key = key_of(identity, Range(0, 2))
    assert key == key_of(dict(reversed(identity.items())), Range(0, 2))
    assert len({key, key_of(identity, Range(0, 3)), key_of({**identity, "model": "eadr"}, Range(0, 2))}) == 3


@pytest.mark.parametrize("runs", [1, 2, 3, 7])
def test_each_chunk_of_each_run_is_of_one_shard(runs: int) -> None:
    shards = [Shard(index=index, of=3) for index in (1, 2, 3)]
    for order in range(runs):
        parts = [shard.part(order, 10, runs=runs) for shard in shards]
        assert sorted(numbers(parts)) == list(range(10))
        for shard, part in zip(shards, parts, strict=True):
            assert shard.concerns(order, runs=runs) or len(part) == 0


def test_a_shard_is_a_number_of_how_many() -> None:
    assert parse_shard("2/5") == Shard(index=2, of=5)
    for wrong in ("0/3", "4/3", "2", "a/b", "-1/3", "1/0"):
        with pytest.raises(UsageError, match="is no shard"):
            parse_shard(wrong)
