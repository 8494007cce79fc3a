"""Parts of a page that show opened runs and findings, and the choice of those that are packed into data.

There are three layers: the list of a scheme's runs, the body of a run, the details of a run or a finding. Sections for
researchers stand beside them. A small page has all of them as they are. A large page packs each of them (pack.py) and
has a stand-in in its place. The browser thus lays out the overview alone at once, however many findings there are.
`Content.places` says which piece has what, for links and filters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment
from markupsafe import Markup

from powercut_reports.overview import Group, RunView
from powercut_reports.research import Section

#: Bytes of details that a page holds as they are; a page with more packs all details.
INLINE_LIMIT = 1_500_000
#: Findings and runs that a page holds as they are.
INLINE_FINDINGS, INLINE_RUNS = 40, 200
#: Bugs of a run that stand in its body; of a packed page, those behind them are a piece of their own.
_FIRST_BUGS = 20


@dataclass(frozen=True)
class Content:
    """The parts of a page. `packed`: the piece of each part by its name; empty where nothing is packed."""

    parts: Mapping[str, Markup] = field(default_factory=dict)
    packed: Mapping[str, int] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)  # the piece that an element with this id is in
    parents: Mapping[int, int] = field(default_factory=dict)  # the piece that the stand-in of a piece is in
    details: Mapping[str, int] = field(default_factory=dict)  # the piece with what else there is of a run or a finding

    @property
    def pieces(self) -> list[str]:
        return list(self.parts.values()) if self.packed else []


def list_name(group: Group) -> str:
    return f"list {group.target}"


def body_name(view: RunView) -> str:
    return f"{view.id} body"


def more_name(view: RunView) -> str:
    return f"{view.id} more"


def content(
    environment: Environment,
    context: Mapping[str, Any],
    *,
    detailed: Sequence[RunView],
    groups: Sequence[Group],
    views: Sequence[RunView],
    sections: Sequence[Section],
    limit: int,
) -> Content:
    """The parts of a page: details of the runs `detailed`, bodies of `views`, lists of `groups`, and `sections`.

    `limit`: bytes of details that are not packed.
    """

    def renderer(name: str) -> Callable[..., Markup]:
        template = environment.get_template(name)
        return lambda **more: Markup(template.render({**context, **more}))

    of_run, of_finding = renderer("run_details.html.j2"), renderer("finding.html.j2")
    of_body, of_bugs, of_list = renderer("run_body.html.j2"), renderer("run_bugs.html.j2"), renderer("run_list.html.j2")
    parts: dict[str, Markup] = {}
    for view in detailed:
        parts[view.id] = of_run(view=view)
        parts |= {item.id: of_finding(item=item) for item in view.findings}
    own = [*parts]
    findings = sum(len(view.findings) for view in views)
    many = sum(map(len, parts.values())) > limit or findings > INLINE_FINDINGS or len(views) > INLINE_RUNS
    first = _FIRST_BUGS if many else max((len(view.bugs) for view in views), default=0)
    names = [*parts]
    names += [more_name(view) for view in views if len(view.bugs) > first]
    names += [body_name(view) for view in views] + [list_name(group) for group in groups]
    names += [section.id for section in sections]
    packed = {name: index for index, name in enumerate(names)} if many else {}
    shared = {"content": parts, "packed": packed, "first_bugs": first}
    for view in views:
        if len(view.bugs) > first:
            parts[more_name(view)] = of_bugs(**shared, view=view, bugs=view.bugs[first:])
    for view in views:
        parts[body_name(view)] = of_body(**shared, view=view)
    for group in groups:
        parts[list_name(group)] = of_list(**shared, group=group)
    for section in sections:
        parts[section.id] = renderer(section.template)(section=section)
    assert [*parts] == names
    if not many:
        return Content(parts)
    places, parents = _places(packed, groups=groups, views=views, first=first)
    for section in sections:
        places |= dict.fromkeys(re.findall(r'\sid="([^"]+)"', parts[section.id]), packed[section.id])
    return Content(parts, packed, places, parents, {name: packed[name] for name in own})


def _places(
    packed: Mapping[str, int], *, groups: Sequence[Group], views: Sequence[RunView], first: int
) -> tuple[dict[str, int], dict[int, int]]:
    places: dict[str, int] = {}
    parents: dict[int, int] = {}
    for group in groups:
        for view in group.views:
            places[view.id] = packed[list_name(group)]
            parents[packed[body_name(view)]] = packed[list_name(group)]
    for view in views:
        body = packed[body_name(view)]
        if view.id in packed:
            parents[packed[view.id]] = body
        if more_name(view) in packed:
            parents[packed[more_name(view)]] = body
        for number, bug in enumerate(view.bugs):
            inside = body if number < first else packed[more_name(view)]
            for item in bug:
                places[item.id] = inside
                if item.id in packed:
                    parents[packed[item.id]] = inside
    return places, parents
