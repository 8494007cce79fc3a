"""The page of a finding: film strip, drawn table, cause and smallest case say what the record says."""

from copy import deepcopy
from typing import Any

import pytest

from powercut_records.drawing import Drawing
from powercut_reports import story, text
from powercut_reports.drawing import drawing_view
from powercut_reports.film import Film, film, short_name, snippet
from powercut_reports.finding_view import finding_view
from powercut_reports.remedy import cause_view, lost_bytes, minimal_view
from reports.tests.typed import finding_of

Raw = dict[str, Any]


def film_of(raw: Raw) -> Film:
    found = film(finding_of(raw))
    assert found is not None
    return found


def test_a_step_an_event_then_the_cut_and_the_answer(explained: Raw) -> None:
    strip = film_of(explained)
    events = sorted({e["event"] for line in explained["timeline"]["lines"] for e in line["events"]})
    assert [step.event.replace(",", "") for step in strip.steps[:-2]] == [str(event) for event in events]
    assert [step.kind for step in strip.steps[-2:]] == ["cut", "answer"]
    assert strip.start == len(events), "the power cut is what one sees first"
    assert all(a.x < b.x for a, b in zip(strip.steps, strip.steps[1:-1], strict=False)), "a column a step"


def test_a_fence_that_settles_two_lines_is_one_step(explained: Raw) -> None:
    lines = explained["timeline"]["lines"]
    for n, line in enumerate(lines[:2]):
        line["events"] = [
            {"event": 10 + n, "kind": "store", "detail": "8 bytes", "state": "dirty", "site": "a.cc:1"},
            {"event": 20 + n, "kind": "flush", "detail": "clwb", "state": "flushed", "site": "a.cc:2"},
            {"event": 30, "kind": "fence", "detail": "sfence", "state": "durable", "site": "a.cc:3"},
        ]
    del lines[2:]
    strip = film_of(explained)
    assert [step.what for step in strip.steps[:5]] == ["store of 8 bytes"] * 2 + ["clwb"] * 2 + ["sfence"]
    assert [sorted(line.state for line in step.lines) for step in strip.steps[:5]] == [
        ["", "dirty"],
        ["dirty", "dirty"],
        ["dirty", "flushed"],
        ["flushed", "flushed"],
        ["durable", "durable"],
    ]
    assert [line.touched for line in strip.steps[4].lines] == [True, True]


def test_the_cut_shows_what_became_of_the_lines(explained: Raw) -> None:
    strip = film_of(explained)
    cut = strip.steps[strip.start]
    assert sorted({line.state for line in cut.lines}) == sorted(
        {track.fate or "durable" for track in strip.chart.tracks}
    )
    assert cut.site == "targets/level/update.cc:80", "the store that was lost"
    lost = [step for step in strip.steps if step.fate == "lost"]
    assert lost and lost[0].sentence.endswith("; the power cut will take it.")


def test_source_stands_beside_each_step_and_is_kept_once(explained: Raw) -> None:
    strip = film_of(explained)
    sites = [source.site for source in strip.sources]
    assert len(sites) == len(set(sites))
    step = next(step for step in strip.steps if step.site == "targets/level/update.cc:86")
    source = strip.sources[step.source]
    assert [line.text for line in source.lines if line.focus] == ["  pc_clwb(&bucket->tokens);"]
    assert [line.line for line in source.lines] == [83, 84, 85, 86, 87, 88], "three around it, as far as they go"


@pytest.mark.parametrize(
    ("function", "short"),
    [
        ("powercut::level::Table::Fill(powercut::level::Place const&, unsigned char const*)", "Table::Fill"),
        ("main", "main"),
        ("", ""),
        ("(anonymous namespace)::f()", "(anonymous namespace)::f()"),
        ("a::b<c::d>::e()", "a::b<c::d>::e()"),
    ],
)
def test_functions_are_named_in_short(function: str, short: str) -> None:
    assert short_name(function) == short


def test_records_without_sources_show_those_of_their_stores(lost_item: Raw) -> None:
    finding = finding_of(lost_item)
    assert finding.sources == {} and finding.cause is None and finding.minimal is None and finding.drawing is None
    assert any(line.focus for line in snippet(finding, "targets/level/update.cc:80"))
    assert snippet(finding, "elsewhere.cc:1") == ()


def test_a_second_cut_goes_on_with_recoverys_stores(sample_runs: list[Raw]) -> None:
    raw = next(f for run in sample_runs for f in run["findings"] if f["nested_image"])
    strip = film_of(raw)
    after = strip.steps[strip.start :]
    assert [step.kind for step in after] == ["cut", "recovery", "recovery", "cut", "answer"]
    assert after[3].what == "the power is cut again, inside recovery"
    xs = [step.x for step in after]
    assert xs == sorted(xs) and xs[3] == strip.chart.end_x == xs[4]
    raw["nested_image"][0]["recovery_stores"] *= 30
    many = film_of(raw)
    assert sum(step.kind == "recovery" for step in many.steps) == 16
    assert "after 44 earlier stores" in next(s for s in many.steps if s.kind == "recovery").what
    raw["nested_image"][0] |= {"after_return": True, "recovery_stores": []}
    assert film_of(raw).steps[-2].what == "the power is cut right after recovery"


def test_two_states_of_a_bucket_are_two_rows(explained: Raw) -> None:
    finding = finding_of(explained)
    view = drawing_view(finding.drawing, lost_bytes(finding))
    assert view is not None
    first, second = view.groups[0].buckets
    assert [row.label for row in first.rows] == ["before", "after"] and [row.label for row in second.rows] == ["both"]
    before, after = first.rows
    assert [cell.state.shown for cell in before.slots if cell.state] == ["12 v2", "", "17 v3", "9 v1"]
    assert [cell.status for cell in after.slots] == ["same", "same", "changed", "gone"]
    assert [cell.hit for cell in after.slots] == [False, False, True, False], "the lost store lies in slot 2"
    assert [cell.hit for cell in before.slots] == [False] * 4
    assert view.differences == (
        "top level, bucket 32, slot 2: key 17 with the third value written to it; after recovery "
        "key 17 with a value that nobody wrote.",
        "top level, bucket 32, slot 3: key 9 with the first value written to it; after recovery empty.",
    )
    assert view.groups[0].slots == 4 and view.left_out == 30


def test_without_a_recovered_table_only_before_is_drawn(explained: Raw) -> None:
    drawing = {**explained["drawing"], "after": False}
    view = drawing_view(Drawing.model_validate(drawing), [])
    assert view is not None and not view.has_after and view.differences == ()
    assert [row.label for bucket in view.groups[0].buckets for row in bucket.rows] == ["before"] * 2
    shown = [cell.state.shown for cell in view.groups[0].buckets[0].rows[0].slots if cell.state]
    assert shown == ["12 v2", "", "17 v3", "9 v1"]


@pytest.mark.parametrize("nothing", [None, Drawing(), Drawing(groups=[])])
def test_no_drawing_no_picture(nothing: Drawing | None) -> None:
    assert drawing_view(nothing, []) is None


def test_the_cause_names_two_lines_and_the_fix_between_them(explained: Raw) -> None:
    view = cause_view(finding_of(explained))
    assert view is not None and view.first is not None and view.second is not None
    assert (view.first.label, view.first.place.site) == ("B", "targets/level/update.cc:80")
    assert [line.text.strip() for line in view.first.source if line.focus] == [
        "pc_memcpy(slot.value, value.data, value.size);"
    ]
    assert view.between == "must be durable before"
    added = [line.text for line in view.patch if line.added]
    assert added == ["  flush(the line of B);", "  fence();"], "as deep as the line before"
    at = next(index for index, line in enumerate(view.patch) if line.added)
    assert view.patch[at - 1].number == 80 and view.patch[-1].number == 81
    assert [words for _, words, _ in view.rechecks] == ["consistent (complete, 412 states, 9 executions)"]


def test_a_fix_goes_behind_the_whole_statement(explained: Raw) -> None:
    lines = explained["sources"]["targets/level/update.cc"]
    lines |= {"80": "  pc_memcpy(slot.value,", "81": "            value.data, value.size);"}
    for store in explained["stores"]:
        store["frames"] = []
    view = cause_view(finding_of(explained))
    assert view is not None
    assert [line.number for line in view.patch] == [79, 80, 81, 0, 0, 82]


def test_what_no_flush_can_mend_has_no_patch(explained: Raw) -> None:
    explained["cause"] |= {"kind": "atomicity", "fix": None, "recheck": None, "explanation": "two words"}
    view = cause_view(finding_of(explained))
    assert view is not None and view.patch == () and view.rechecks == () and view.explanation == "Two words"


def test_stores_bear_the_letters_of_the_cause(explained: Raw) -> None:
    groups = {group.label: group for group in story.involved(finding_of(explained)) if group.label}
    assert groups["A"].site == "targets/level/update.cc:85" and groups["B"].site == "targets/level/update.cc:80"
    swapped = deepcopy(explained)
    swapped["cause"] |= {"first": explained["cause"]["second"], "second": explained["cause"]["first"]}
    groups = {group.label: group for group in story.involved(finding_of(swapped)) if group.label}
    assert groups["B"].site == "targets/level/update.cc:85" and groups["A"].site == "targets/level/update.cc:80"


def test_the_story_says_why(explained: Raw, lost_item: Raw) -> None:
    told = story.story(finding_of(explained))
    assert told.endswith(
        "; nothing makes the store at targets/level/update.cc:80 durable before that at targets/level/update.cc:85."
    )
    explained["cause"]["second"] |= {"role": "acknowledgement", "text": "update(17) returns", "site": None}
    assert story.story(finding_of(explained)).endswith("durable before update(17) returns.")
    explained["cause"]["kind"] = "unexplained"
    assert story.story(finding_of(explained)) == story.story(finding_of(lost_item))


def test_the_text_report_names_the_order_and_the_recheck(explained: Raw) -> None:
    rows = text.render_finding(finding_of(explained), color=False).splitlines()
    assert "  Missing order: B before A. Flush the line of B and fence before A." in rows
    assert "  Re-checked with the fix: consistent (complete, 412 states, 9 executions)" in rows
    assert "  Smallest case: 3 operations of 57: insert(1), insert(17), update(17)" in rows
    explained["cause"]["second"] |= {"role": "acknowledgement", "text": "update(17) returns", "site": None}
    rows = text.render_finding(finding_of(explained), color=False).splitlines()
    assert [row.split()[:2] for row in rows if row.startswith("    ")][:2] == [["step", "A"], ["store", "B"]]
    assert any("update(17) returns" in row and row.endswith("acknowledged, in the smallest case") for row in rows)


def test_a_fix_that_leaves_other_bugs_says_so(explained: Raw) -> None:
    explained["cause"]["recheck"] |= {"verdict": "inconsistent"}
    assert "this finding is gone, others are not" in text.render_finding(finding_of(explained), color=False)
    explained["cause"]["recheck"] |= {"held": False, "remaining": ["lost-item"]}
    assert "still violated: lost-item" in text.render_finding(finding_of(explained), color=False)


def test_the_smallest_case(explained: Raw) -> None:
    view = minimal_view(finding_of(explained))
    assert view is not None
    assert view.shrunk == ("57 → 3 operations", "9 → 1 lost store")
    assert [(name, explored, len(members)) for name, explored, members in view.phases] == [
        ("warm-up", False, 2),
        ("update", True, 1),
    ]
    assert view.settings == (("top", "2", "4"), ("slots", "default", "8"))
    assert view.save == f"{explained['reproduce']} --save-scenario FILE.toml"
    assert view.film is not None, "its finding is told like any other"


def broken(value: Any, drop: str) -> Any:
    if isinstance(value, dict):
        return {name: broken(item, drop) for name, item in value.items() if name != drop}
    return [broken(item, drop) for item in value] if isinstance(value, list) else value


def names(value: Any) -> set[str]:
    if isinstance(value, dict):
        return set(value).union(*(names(item) for item in value.values()))
    return set().union(*(names(item) for item in value)) if isinstance(value, list) else set()


def test_any_field_may_be_missing(explained: Raw) -> None:
    parts = {name: explained[name] for name in ("cause", "minimal", "drawing", "sources", "timeline")}
    for name in sorted(names({**parts, "minimal": {**parts["minimal"], "finding": None}})):
        finding_view("run-1-1", finding_of({**explained, **broken(parts, name)}))
        text.render_finding(finding_of({**explained, **broken(parts, name)}), color=False)


SOURCE = [{"line": n, "text": f"  line{n}();", "focus": n == 42} for n in range(40, 45)]


def patch_of(explained: Raw, **fix: object) -> list[tuple[int, str]]:
    explained["cause"]["fix"] = {"sentence": "Do.", "steps": 1, "source": SOURCE, **fix}
    view = cause_view(finding_of(explained))
    assert view
    return [(line.number, line.text) for line in view.patch]


def test_a_fence_is_drawn_behind_the_flush_and_not_behind_the_store(explained: Raw) -> None:
    drawn = patch_of(explained, kind="fence", site="flush.cc:42")
    assert drawn == [(41, "  line41();"), (42, "  line42();"), (0, "  fence();"), (43, "  line43();")]


def test_a_fix_in_the_reader_is_not_drawn_in_the_writer(explained: Raw) -> None:
    """The sentence of an unpersisted read said "in the reader"; the drawing put a fence into the writer."""
    drawn = patch_of(explained, kind="flush-in-reader", site="reader.cc:42")
    assert drawn == [(41, "  line41();"), (0, "  flush(the line of B);"), (0, "  fence();"), (42, "  line42();")]
    assert patch_of(explained, kind="flush-in-reader", site=None, source=[]) == []


def test_an_atomicity_cause_has_no_arrow(explained: Raw) -> None:
    explained["cause"] |= {"kind": "atomicity", "fix": None}
    view = cause_view(finding_of(explained))
    assert view and not view.ordered and view.between == "and"


def test_places_of_the_smallest_case_are_told_apart_from_the_stores_of_the_finding(explained: Raw) -> None:
    view = cause_view(finding_of(explained))
    assert view and view.first and view.source == "the smallest case"
    assert view.first.extent.endswith("of the smallest case")
    explained["cause"]["shared_with"] = "0123456789ab"
    view = cause_view(finding_of(explained))
    assert view and view.source == "finding 0123456789ab"
    explained["cause"]["shared_with"] = ""
    explained["minimal"] = None
    view = cause_view(finding_of(explained))
    assert view and view.first and view.source == "" and "of the" not in view.first.extent


def test_a_finding_without_a_cause_says_how_to_get_one(lost_item: Raw) -> None:
    told = text.render_finding(finding_of(lost_item), color=False)
    assert f"Nobody has looked for the cause yet: 'powercut explain {lost_item['file']}' does" in told


DIFFERENCE = {
    "nearest": 0, "kept_left_out": 3, "changed_left_out": 0,
    "lines": [{"mark": " ", "text": "1=a"}, {"mark": "-", "text": "3=c"}, {"mark": "+", "text": "x" * 900}],
}  # fmt: skip


def test_an_output_is_told_line_by_line_and_never_in_one(lost_item: Raw) -> None:
    """A dump of 900 characters stood in one line, twice, and all of it in red."""
    long = "\n".join(f"{n}={'m' * 90}" for n in range(10))
    lost_item |= {"expected": [long, long + "\nmore"], "found": long[:-5], "difference": DIFFERENCE}
    rows = text.render_finding(finding_of(lost_item), color=False).splitlines()
    assert max(map(len, rows)) < 300
    assert "    - 3=c" in rows and "      1=a" in rows and "    and 3 more lines as expected" in rows
    assert "1 line is missing and 1 is too many" in story.story(finding_of(lost_item))
    view = finding_view("f", finding_of(lost_item))
    assert not view.contents and not view.agreeing_keys
