"""The drawn parts of a finding's page: its words, stores, bytes, timeline and contents, ready for the template."""

from __future__ import annotations

from dataclasses import dataclass

from powercut_records.finding import FindingRecord, NestedImage
from powercut_reports import drawing, files_contents, files_view, film, image, remedy, steps_view, story
from powercut_reports.medium import Medium, medium_of
from powercut_reports.story import Involved


@dataclass(frozen=True)
class FindingView:
    id: str  # by its place in the report
    anchor: str  # permanent; the first of several runs with one finding has it
    finding: FindingRecord
    medium: Medium  # its words
    headline: str
    story: str
    site: str
    stores: tuple[Involved, ...]
    lines: tuple[image.LineView, ...]
    nested_images: tuple[tuple[NestedImage, tuple[image.LineView, ...]], ...]
    film: film.Film | None
    steps: steps_view.StepsView | None
    drawing: drawing.DrawingView | None
    minimal: remedy.MinimalView | None
    cause: remedy.CauseView | None
    calls: tuple[files_view.CallRow, ...]  # of a folder
    paths: tuple[tuple[files_view.PathRow, tuple[files_contents.Cell, ...]], ...]  # of a folder: those that differ
    contents: tuple[tuple[str, str, str], ...]  # key, expected, actual: those that differ
    agreeing_keys: int


def finding_view(identifier: str, finding: FindingRecord) -> FindingView:
    expected, actual = dict(finding.contents.expected), dict(finding.contents.actual)
    keys = list(dict.fromkeys([*expected, *actual]))
    pairs = [(key, expected.get(key, "absent"), actual.get(key, "absent")) for key in keys]
    medium = medium_of(finding)
    # The output of a program is told line by line, once.
    pairs = [] if finding.difference else pairs
    differing = tuple(pair for pair in pairs if pair[1] != pair[2])
    return FindingView(
        id=identifier,
        anchor=story.anchor(finding),
        finding=finding,
        medium=medium,
        headline=story.headline(finding),
        story=story.story(finding),
        site=story.summary_site(finding),
        stores=story.involved(finding),
        lines=tuple(image.line_view(line, medium) for line in finding.image),
        nested_images=tuple(
            (nested, tuple(image.nested_view(line, medium) for line in nested.lines)) for nested in finding.nested_image
        ),
        film=film.film(finding),
        steps=steps_view.steps_view(finding),
        drawing=remedy.drawn(finding),
        minimal=remedy.minimal_view(finding),
        cause=remedy.cause_view(finding),
        calls=files_view.call_rows(finding.files) if finding.files else (),
        paths=_paths(finding),
        contents=differing,
        agreeing_keys=len(pairs) - len(differing),
    )


def _paths(finding: FindingRecord) -> tuple[tuple[files_view.PathRow, tuple[files_contents.Cell, ...]], ...]:
    rows = files_view.path_rows(finding.files) if finding.files else ()
    return tuple((row, files_contents.cells(row.cells)) for row in rows)
