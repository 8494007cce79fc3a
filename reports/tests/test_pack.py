"""Packed pieces come out as they went in, and what several of them say is kept once."""

import json

from hypothesis import given
from hypothesis import strategies as st

from powercut_reports.pack import inflated, pack, unpack

LINES = st.lists(
    st.sampled_from(["", "<p>shared</p>", "=", "1+2", "<b>17</b>", "<b>18</b>", "\u2028ä", "x" * 90]), max_size=12
)


@given(st.lists(LINES.map("\n".join), max_size=8))
def test_every_piece_comes_out_as_it_went_in(pieces: list[str]) -> None:
    packed = pack(pieces)
    assert [unpack(packed, index) for index in range(len(pieces))] == pieces
    assert packed == pack(pieces)
    json.dumps(packed)


def test_lines_of_several_pieces_are_kept_once() -> None:
    source = [f"<span>line {n} of a source that both show</span>" for n in range(400)]
    one, other = pack(["\n".join([*source, "own"])]), pack(["\n".join([*source, f"own {n}"]) for n in range(50)])
    assert inflated(other["shared"]).count("line 7 of") == 1
    assert max(map(len, other["pieces"])) < 60 < len(one["pieces"][0])


def test_lines_that_differ_in_numbers_come_from_the_dictionary() -> None:
    pieces = ["\n".join(f'<i class="some-long-name-{k}">event {97 * n + k}</i>' for k in range(40)) for n in range(30)]
    packed = pack(pieces)
    assert len(inflated(packed["dictionary"]).encode()) <= 32_768
    assert "some-long-name-0" in inflated(packed["dictionary"]), "numbers are masked there"
    alone = pack(pieces[:1])
    assert len(packed["pieces"][7]) < len(alone["pieces"][0])


def test_a_lone_surrogate_costs_no_report() -> None:
    assert unpack(pack(["a\udcff", "b"]), 0) == "a\\udcff"
