"""From a command line's targets and scenarios to the runs to carry out."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from powercut.base.errors import UsageError
from powercut.engine.options import ExploreOptions
from powercut.runs.run_request import Request
from powercut.runs.runner import slug
from powercut.scenarios import catalog, plan
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.targets import Selection, Target


def for_run(
    selections: Sequence[Selection], patterns: Sequence[str], *, options: ExploreOptions, explicit: bool
) -> list[Request]:
    """The runs of `powercut run`: each target with its core scenarios, or with those that the globs name.

    A scenario of the bug corpus runs as it is there: with its bug switched on. With `explicit`, a target for
    which nothing is left is an error; otherwise it is skipped.
    """
    beside = [item for selection in selections for item in catalog.own(selection.target.library) or []]
    named = [item for pattern in patterns for item in catalog.matching(pattern, beside=beside)]
    wanted = list({(item.path, item.name): item for item in named}.values())
    requests: list[Request] = []
    for selection in selections:
        name = selection.target.name
        library = selection.target.library
        scenarios = [item for item in wanted if item.fits(name)] if patterns else catalog.core(name, library)
        if not scenarios and explicit:
            raise _nothing_fits(selection.target, patterns)
        requests += [
            replace(one(selection, item, options=options), optional=catalog.is_optional(item, patterns))
            for item in scenarios
        ]
    if not requests:
        raise UsageError(
            "nothing to run: no scenario fits any target",
            where=" ".join(patterns),
            next_step="'powercut list scenarios' shows which scenario is for which target.",
        )
    return _with_unique_slugs(requests)


def _nothing_fits(target: Target, patterns: Sequence[str]) -> UsageError:
    if not patterns and catalog.own(target.library) is not None:
        return UsageError(
            f"no scenario here is a core scenario of '{target.name}'",
            where=str(target.library.parent / catalog.OWN_FOLDER),
            next_step=f'Give one targets = ["{target.name}"] and core = true, or name one with --scenario.',
        )
    return UsageError(
        f"none of these scenarios fits '{target.name}'" if patterns else f"'{target.name}' has no core scenario",
        where=" ".join(patterns),
        next_step="'powercut list scenarios' shows which scenario is for which target.",
    )


def one(
    selection: Selection, scenario: Scenario, *, options: ExploreOptions, with_bug: bool = True, command: str = ""
) -> Request:
    """The run of one scenario on one target; `with_bug=False` is the fixed twin of a scenario of the bug corpus."""
    target, variant = selection.target, selection.variant
    bug = scenario.content.known_bug
    toggle = bug.toggle if bug and with_bug else None
    return Request(
        name=f"{target.name}:{variant} {scenario.name}",
        slug=slug(target.name, variant, scenario.name),
        options=options,
        scenario=scenario,
        plan=plan.build(target, variant=variant, scenario=scenario, seed=options.seed, toggle=toggle),
        header={
            "target": target.name,
            "variant": variant,
            "scenario": scenario.name,
            "paper": target.description.paper,
            "summary": scenario.content.summary,
            "command": command or command_line(selection, scenario, options),
        },
    )


def command_line(selection: Selection, scenario: Scenario, options: ExploreOptions) -> str:
    """The command that repeats a run."""
    words = [
        "powercut",
        "run",
        f"{selection.target.spelling}:{selection.variant}",
        "--scenario",
        catalog.spelling(scenario),
    ]
    words += ["--model", options.model, "--strategy", options.strategy]
    words += ["--nested", str(options.nested), "--seed", str(options.seed)]
    words += ["--chunk-events", str(options.chunk_events)] if options.chunk_events is not None else []
    return shlex.join(words)


def _with_unique_slugs(requests: list[Request]) -> list[Request]:
    """Scenarios of two folders may share a name; their files must not."""
    seen: Counter[str | None] = Counter()
    unique: list[Request] = []
    for request in requests:
        seen[request.slug] += 1
        count = seen[request.slug]
        unique.append(request if count == 1 else replace(request, slug=f"{request.slug}.{count}"))
    return unique
