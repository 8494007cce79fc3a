"""Findings on a block device, and drawings of counters, in their own words."""

import re
from typing import Any

from powercut_records.drawing import Drawing
from powercut_records.finding import ImageLine
from powercut_reports import story
from powercut_reports.drawing import DrawingView, drawing_view
from powercut_reports.film import film
from powercut_reports.finding_view import finding_view
from powercut_reports.image import line_view
from powercut_reports.medium import BLOCK, MEMORY
from powercut_reports.text import render_finding
from reports.tests.typed import finding_of

Raw = dict[str, Any]


def cell(name: str, kind: str, **more: Any) -> Raw:
    state = {"kind": kind, "offset": 256, "size": 8, **more}
    return {"name": name, "before": state, "after": state}


def part(name: str, key: str, count: int, **more: Any) -> Raw:
    return cell(name, "item", key=key, count=count, **more)


def drawn(*groups: tuple[str, list[Raw]], **more: Any) -> DrawingView:
    raw = {"groups": [{"name": name, "buckets": [{"bucket": 1, "cells": cells}]} for name, cells in groups], **more}
    view = drawing_view(Drawing.model_validate(raw), [(448, 456)], key="4", medium=BLOCK)
    assert view is not None
    return view


def test_a_count_that_is_in_two_places_says_both() -> None:
    view = drawn(
        ("change segment", [part("0", "3", 2), part("1", "4", 5, offset=448)]),
        ("data block 1", [part("0", "4", 5), cell("1", "empty", key="4", count=9, text="merged")]),
    )
    assert view.counts == (
        "Key 4 counts after recovery in 2 places, +10 together: "
        "+5 in change segment, page 1, entry 1; +5 in data block 1, page 1, entry 0."
    )
    log, block = (group.buckets[0].rows[0].slots for group in view.groups)
    assert [slot.asked for slot in log] == [False, True] and [slot.hit for slot in log] == [False, True]
    assert [slot.state.shown for slot in block if slot.state] == ["4 +5", "4 +9"]
    assert block[1].asked and block[1].state and block[1].state.dead
    assert block[1].title == "key 4 +9, which does not count (merged); 1 sector of unit 4"


def test_one_part_has_no_sum_and_values_that_are_no_counts_have_no_parts() -> None:
    assert drawn(("data block 0", [part("0", "4", -2)])).counts.startswith("Key 4 counts after recovery in 1 place: -2")
    view = drawn(("top level", [cell("0", "item", key="4", value="0x2a", write=1)]))
    assert view.counts == "" and not view.has_counts


def test_ram_lies_nowhere() -> None:
    view = drawn(("RAM buffer", [part("0", "4", 5, offset=0, size=0)]))
    slot = view.groups[0].buckets[0].rows[0].slots[0]
    assert slot.title == "key 4 +5; in RAM" and not slot.hit


def test_empty_columns_of_a_wide_page_are_one() -> None:
    cells = [cell(str(n), "empty") for n in range(64)]
    cells[2], cells[40] = part("2", "4", 1), cell("40", "empty", text="to page 3")
    group = drawn(("data block 0", cells)).groups[0]
    slots = group.buckets[0].rows[0].slots
    assert [slot.folded for slot in slots] == [0, 0, 0, 37, 0, 23]
    assert group.slots == len(slots) == 6
    assert [slot.folded for slot in drawn(("data block 0", cells[:8])).groups[0].buckets[0].rows[0].slots] == [0] * 8


def test_a_device_has_units_sectors_and_writes(lost_item: Raw) -> None:
    finding = finding_of({**lost_item, "model": "block"})
    told = story.story(finding) + render_finding(finding, color=False)
    strip = film(finding)
    assert strip is not None
    told += " ".join(step.what for step in strip.steps) + " ".join(track.label for track in strip.chart.tracks)
    told += " ".join(place.extent for place in story.involved(finding))
    assert "write A" in told and "the write at" in told and "unit " in told and "sector" in told
    assert "store A" not in told and "store at" not in told and "bytes at" not in told and "0x10" not in told
    assert finding_view("f", finding).medium == BLOCK
    assert "store A" in render_finding(finding_of(lost_item), color=False)


def test_a_unit_is_shown_sector_by_sector() -> None:
    zero, old, new = "00" * 8, "aa" * 8, "bb" * 8
    view = line_view(
        ImageLine(offset=448, floor=old + zero, bytes=old + new, visible=new + new),
        BLOCK,
    )
    assert view.summary == "1 sector persisted; 1 sector lost"
    assert [(row.offset, row.floor[0].text, row.image[0].text) for row in view.rows] == [
        (0, old, old),
        (1, "zeroes", new),
    ]


def test_where_things_lie() -> None:
    assert (BLOCK.place(448), MEMORY.place(448)) == ("unit 7", "0x1c0")
    assert (BLOCK.extent(448, 8), BLOCK.extent(448, 72)) == ("1 sector of unit 7", "9 sectors of units 7 to 8")
    assert MEMORY.extent(448, 8) == "8 bytes at 0x1c0"
    assert (BLOCK.told("8 bytes"), BLOCK.told("clwb"), MEMORY.told("8 bytes")) == ("1 sector", "clwb", "8 bytes")


def on_flash(event: int, offset: int, fate: str, *, function: str = "powercut_flash_program(f)") -> Raw:
    line = {"line": 48, "text": "  powercut_flash_program(&flash, page, data, 0);", "focus": True}
    frames = [{"function": function}, {"function": "Put", "file": "ftl.h", "line": 48, "source": [line]}]
    identity = {"site": "ftl.h:48", "function": "Put", "stack": frames}
    return {"event": event, "offset": offset, "size": 8, "fate": fate, "decisive": True, "kind": "store", **identity}


def test_an_interrupted_program_is_one_line_with_its_page(lost_item: Raw) -> None:
    """It is two steps of two words: the page cannot be read, and then it holds the content."""
    steps = [(22, 4352, "persisted"), (23, 4360, "persisted"), (25, 4352, "lost"), (26, 4360, "lost")]
    stores = [on_flash(*step) for step in steps]
    told = render_finding(finding_of({**lost_item, "model": "flash", "stores": stores, "cause": None}), color=False)
    (line,) = [row for row in told.splitlines() if "ftl.h:48 " in row]
    assert line.split()[:2] == ["program", "A"] and "page, device line 68" in line and line.endswith("interrupted")
    assert "store A" not in told and "write A" not in told


def test_two_programs_of_one_line_of_code_are_told_apart(lost_item: Raw) -> None:
    erase = {"function": "powercut_flash_erase(f)"}
    stores = [on_flash(22, 4352, "lost"), on_flash(23, 4360, "lost"), on_flash(27, 4416, "lost")]
    stores += [on_flash(40, 128, "persisted", **erase), on_flash(41, 128, "persisted", **erase)]
    finding = finding_of({**lost_item, "model": "flash", "stores": stores, "cause": None})
    groups = {group.noun: (len(group.stores), group.extent, group.fate) for group in story.involved(finding)}
    assert groups == {
        "program": (2, "page, device line 68; page, device line 69", "lost"),
        "erase": (1, "erase block 2", "persisted"),
    }


def test_two_writes_of_one_line_of_code_show_their_sectors(lost_item: Raw) -> None:
    stores = [on_flash(35, 256, "persisted", function="powercut_block_write"), on_flash(36, 320, "lost")]
    told = render_finding(finding_of({**lost_item, "model": "block", "stores": stores, "cause": None}), color=False)
    rows = [row for row in told.splitlines() if "ftl.h:48 " in row]
    assert [("unit 4" in row, "unit 5" in row) for row in rows] in (
        [(True, False), (False, True)],
        [(False, True), (True, False)],
    )


def write(event: int, offset: int, fate: str) -> Raw:
    frame = {
        "function": "init",
        "file": "db.go",
        "line": 5,
        "source": [{"line": 5, "text": "write(buf)", "focus": True}],
    }
    told = {"stack": [frame], "site": "db.go:5", "function": "init"}
    return {"event": event, "offset": offset, "size": 8, "fate": fate, "decisive": True, **told}


def place(letter_is: str, offset: int) -> Raw:
    return {"role": letter_is, "offset": offset, "size": 8, "site": "db.go:5", "source": "write(buf)"}


def rows_of_a_file(stores: list[Raw], second: Raw, first: Raw) -> list[list[str]]:
    raw = {
        "invariant": "recovery-failed",
        "model": "block",
        "stores": stores,
        "program": {"pools": [{"path": "store.db", "device": {"sector_size": 512, "unit": 1}}]},
        "cause": {"kind": "atomicity", "first": first, "second": second},
    }
    text = render_finding(finding_of(raw), color=False)
    return [re.split(r"\s{2,}", row.strip()) for row in text.splitlines() if row.startswith("    write ")]


def test_writes_of_one_line_of_code_are_told_by_their_sectors() -> None:
    stores = [write(1, 64, "persisted"), write(2, 128, "lost")]
    rows = rows_of_a_file(stores, place("store", 64), place("store", 128))
    assert [(row[0], row[2], row[-1]) for row in rows] == [
        ("write A", "sector 0 (0x0 of the file)", "persisted"),
        ("write B", "sector 1 (0x200 of the file)", "lost"),
    ]


def test_a_write_that_was_not_made_is_none_of_the_image() -> None:
    rows = rows_of_a_file([write(1, 0, "persisted")], place("store", 0), place("next-store", 512))
    assert [(row[0], row[2], row[-1]) for row in rows] == [
        ("write A", "the file's size", "persisted"),
        ("write B", "sector 7 (0xe00 of the file)", "not made yet"),
    ]
