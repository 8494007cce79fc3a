"""Image and timeline views: what is drawn is what the finding says."""

from typing import Any

import pytest

from powercut_records.finding import ImageLine
from powercut_reports import image, story, timeline
from reports.tests.typed import finding_of

Raw = dict[str, Any]


def _line(floor: str, actual: str, visible: str) -> ImageLine:
    return ImageLine(offset=0x1000, bytes=actual, floor=floor, visible=visible, candidates=4, decided=True)


def test_bytes_are_judged_against_floor_and_visible() -> None:
    view = image.line_view(_line("00 00 00 00".replace(" ", ""), "000b0c00", "0a0b0d00"))
    assert [(span.status, span.text) for span in view.rows[0].image] == [
        ("lost", "00"), ("kept", "0b"), ("between", "0c"), ("same", "00"),
    ]  # fmt: skip
    assert view.summary == "1 byte persisted (0x1001); 1 byte lost (0x1000); 1 byte in between (0x1002)"


def test_rows_without_a_difference_are_left_out() -> None:
    view = image.line_view(_line("00" * 64, "00" * 63 + "01", "00" * 63 + "01"))
    assert [row.offset for row in view.rows] == [0x1030] and view.same_rows == 3


def test_contents_of_different_length_do_not_break_the_view() -> None:
    view = image.line_view(_line("", "01", "0102"))
    assert [span.text for span in view.rows[0].floor] == ["··", "··"]
    assert image.line_view(_line("", "", "")).summary == "all three contents agree"


def test_tracks_end_at_the_cut_and_say_what_became_of_them(lost_item: Raw) -> None:
    chart = timeline.build(finding_of(lost_item))
    assert chart is not None
    assert [(track.label, track.fate, track.decisive) for track in chart.tracks] == [
        ("0x1040", "persisted", True), ("0x1080", "lost", True), ("0x200", "lost", False),
    ]  # fmt: skip
    for track in chart.tracks:
        ends = [segment.x + segment.width for segment in track.segments]
        assert ends[:-1] == [segment.x for segment in track.segments[1:]] and ends[-1] == chart.crash_x
    assert [s.state for s in chart.tracks[0].segments] == ["dirty", "flushed", "durable", "dirty", "flushed"]
    assert [m.shape for m in chart.tracks[0].marks] == ["store", "flush", "fence", "store", "flush"]


def test_a_hot_line_is_folded_and_many_lines_are_counted(lost_item: Raw) -> None:
    event = lost_item["timeline"]["lines"][0]["events"][0]
    hot = [{**event, "event": n, "state": ("dirty", "durable")[n % 2]} for n in range(500)]
    lost_item["timeline"]["lines"] = [{"offset": 64 * n, "events": hot} for n in range(30)]
    chart = timeline.build(finding_of(lost_item))
    assert chart is not None and (chart.folded_events, chart.hidden_tracks, len(chart.tracks)) == (460, 18, 12)
    first = chart.tracks[0].segments[0]
    assert first.x == chart.start_x and first.state == "durable", "the state that the folded events left"


@pytest.mark.parametrize("lines", [[], [{"offset": 0, "events": []}]])
def test_no_events_no_chart(lost_item: Raw, lines: list[Raw]) -> None:
    assert timeline.build(finding_of({**lost_item, "timeline": {"lines": lines}})) is None


def test_a_sector_is_one_track(lost_item: Raw) -> None:
    lost_item["image"] = [{"offset": 0, "bytes": "00" * 512}]
    lost_item["timeline"]["lines"] = [{"offset": 0x1000, "events": lost_item["timeline"]["lines"][1]["events"]}]
    chart = timeline.build(finding_of(lost_item))
    assert chart is not None and chart.tracks[0].fate == "torn", "stores at 0x1040 (kept) and 0x10a0 (lost) share it"


def test_stores_of_one_place_and_fate_are_one_entry(lost_item: Raw) -> None:
    stores = lost_item["stores"]
    stores += [{**stores[2], "event": 1227, "offset": 0x10A8}, {**stores[2], "event": 1228, "fate": "persisted"}]
    groups = story.involved(finding_of(lost_item))
    assert [(g.label, g.fate, len(g.stores)) for g in groups if g.label] == [
        ("A", "lost", 2), ("B", "persisted", 1), ("C", "persisted", 1),
    ]  # fmt: skip
    assert groups[0].extent == "30 bytes at 0x10a0 in 2 stores"


def test_a_nested_cut_without_a_floor_shows_its_bytes_alone() -> None:
    view = image.nested_view(_line("2a" * 20, "2a" * 20, "2a" * 20))
    assert view.summary == "as the cut left it" and [offset for offset, _ in view.contents] == [0x1000, 0x1010]


@pytest.mark.parametrize(
    ("after_return", "words"),
    [(True, "then again right after recovery"), (False, "then again inside recovery, after 2 stores of it")],
)
def test_a_second_cut_is_told(sample_runs: list[Raw], after_return: bool, words: str) -> None:
    finding = next(f for run in sample_runs for f in run["findings"] if f["nested_image"])
    finding["nested_image"][0]["after_return"] = after_return
    assert (
        f"After update(9) the power was cut before sfence, at event 1,391 (crash point 112), {words};"
        in story.story(finding_of(finding))
    )


def test_a_fault_without_a_signal_has_no_address(sample_runs: list[Raw]) -> None:
    finding = next(f for run in sample_runs for f in run["findings"] if f["fault"])
    finding["fault"] |= {"signal": None, "address": "0x0", "text": "std::bad_alloc"}
    finding["found"] = "threw an exception"
    assert story.story(finding_of(finding)).endswith("recovery then threw an exception (std::bad_alloc).")
