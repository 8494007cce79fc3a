"""From a command line's targets and scenarios to the runs to carry out."""

import shlex
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from powercut.base.errors import UsageError
from powercut.engine.options import DEFAULT_SEARCH, ExploreOptions, Schedules
from powercut.runs.run_request import Request
from powercut.runs.runner import slug
from powercut.scenarios import catalog, clients, plan
from powercut.scenarios import config as configs
from powercut.scenarios.clients import Shape
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.targets import Selection, Target

#: No option is chosen: scenarios run with their own.
OWN: Mapping[str, str] = {}


def for_run(
    selections: Sequence[Selection],
    patterns: Sequence[str],
    *,
    options: ExploreOptions,
    explicit: bool,
    config: Mapping[str, str] = OWN,
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Request]:
    """The runs of `powercut run`: each target with its core scenarios, or with those that the globs name.

    A scenario of the bug corpus runs as it is there: with its bug switched on, unless `config` says otherwise. With
    `explicit`, a target for which nothing is left, or that lacks an option of `config`, is an error; otherwise it is
    skipped, for the lack of an option with a line to `say`.
    """
    selections, chosen = _having(selections, config, explicit=explicit, say=say)
    beside = [item for selection in selections for item in catalog.own(selection.target.library) or []]
    named = {pattern: catalog.matching(pattern, beside=beside) for pattern in patterns}
    for pattern, found in named.items():
        refuse_without_threads(found, options.schedules, where=pattern)
    wanted = list({(item.path, item.name): item for found in named.values() for item in found}.values())
    requests: list[Request] = []
    for selection in selections:
        name = selection.target.name
        library = selection.target.library
        scenarios = [item for item in wanted if item.fits(name)] if patterns else catalog.core(name, library)
        if not scenarios and explicit:
            raise _nothing_fits(selection.target, patterns)
        requests += [
            replace(
                one(selection, item, options=options, config=chosen[name]),
                optional=catalog.is_optional(item, patterns),
            )
            for item in scenarios
        ]
    refuse_without_threads([item.scenario for item in requests if item.scenario], options.schedules)
    if not requests:
        raise UsageError(
            "nothing to run: no scenario fits any target",
            where=" ".join(patterns),
            next_step="'powercut list scenarios' shows which scenario is for which target.",
        )
    return _with_unique_slugs(requests)


def for_clients(
    selections: Sequence[Selection],
    patterns: Sequence[str],
    *,
    shape: Shape,
    options: ExploreOptions,
    explicit: bool,
    config: Mapping[str, str] = OWN,
    say: Callable[[str], None] = lambda sentence: None,
) -> list[Request]:
    """The runs of `powercut run --client`: each target with the clients of `shape`, or with those that the globs name.

    With `explicit`, a target that is not for threads, or lacks an option of `config`, is an error; otherwise it is
    skipped. `say` is told in a line what was left out.
    """
    selections, chosen = _having(selections, config, explicit=explicit, say=say)
    requests: list[Request] = []
    for selection in selections:
        name = f"{selection.target.name}:{selection.variant}"
        own = chosen[selection.target.name]
        try:
            made = _clients(selection, shape, patterns, options=options, config=own)
        except UsageError as error:
            if explicit:
                raise
            say(f"{name} is left out: {error.what}.")
            continue
        if sentence := made.sentence(name):
            say(sentence)
        for item in made.scenarios:
            # Erases and updates are for a target that has them.
            optional = item.name not in patterns
            named = [*shape.words(), "--scenario", item.name]
            command = command_line(selection, item, options, named=named, config=own)
            made_of = one(selection, item, options=options, config=own, command=command)
            requests.append(replace(made_of, optional=optional))
    if not requests:
        raise UsageError(
            "nothing to run: no target is for threads",
            where="--client",
            next_step="'powercut list targets' shows which traits each has (targets/ABI.md).",
        )
    return _with_unique_slugs(requests)


def _clients(
    selection: Selection,
    shape: Shape,
    patterns: Sequence[str],
    *,
    options: ExploreOptions,
    config: Mapping[str, str],
) -> clients.Generated:
    """Clients that are named are runs of their own; so are samples, which are drawn of each client."""
    if options.schedules.search in (None, DEFAULT_SEARCH):
        groups = clients.groups(selection, shape, config=config)
        named = [item for item in groups.scenarios if any(fnmatchcase(item.name, pattern) for pattern in patterns)]
        if named or not patterns:
            return replace(groups, scenarios=tuple(named) or groups.scenarios)
    return clients.scenarios(selection, shape, patterns=patterns, config=config)


def _having(
    selections: Sequence[Selection], config: Mapping[str, str], *, explicit: bool, say: Callable[[str], None]
) -> tuple[list[Selection], dict[str, dict[str, str]]]:
    """The selections whose targets have the options of `config`, and the options as each target spells them."""
    kept: list[Selection] = []
    chosen: dict[str, dict[str, str]] = {}
    missing: list[UsageError] = []
    for selection in selections:
        name = selection.target.name
        try:
            chosen[name] = configs.checked_config(selection.target, config, where=configs.WHERE)
        except UsageError as error:
            if explicit:
                raise
            say(f"{name}:{selection.variant} is left out: {error.what}.")
            missing.append(error)
            continue
        kept.append(selection)
    if missing and not kept:
        raise missing[0]
    return kept, chosen


def refuse_without_threads(found: Sequence[Scenario], chosen: Schedules, *, where: str = "") -> None:
    """UsageError where schedules are chosen and none of the scenarios has threads. Where some have, the others run as
    ever. `where`: what named them."""
    words = chosen.words()
    if not words or not found or any(item.content.race for item in found):
        return
    which = "this scenario has no" if len(found) == 1 else "none of these scenarios has"
    raise UsageError(
        f"{words[0]} chooses schedules of threads, and {which if where else 'no scenario that would run has'} threads",
        where=where or words[0],
        next_step=f"Leave {words[0]} out, or name a scenario with threads (scenarios/SCHEMA.md), or --client 2x2.",
    )


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
    selection: Selection,
    scenario: Scenario,
    *,
    options: ExploreOptions,
    with_bug: bool = True,
    config: Mapping[str, str] = OWN,
    command: str = "",
) -> Request:
    """The run of one scenario on one target; `with_bug=False` is the fixed twin of a scenario of the bug corpus.

    `config` are options of the target that go before the scenario's, the bug's as well. The run's name has them, so
    that runs of one scenario with several do not take each other's files.
    """
    target, variant = selection.target, selection.variant
    bug = scenario.content.known_bug
    toggle = bug.toggle if bug and with_bug and plan.BUG_OPTION not in config else None
    scenario = configs.configured(scenario, config)
    options = options.on(plan.medium(target, variant=variant, scenario=scenario))
    title = configs.title(scenario.name, config)
    return Request(
        name=f"{target.name}:{variant} {title}",
        slug=slug(target.name, variant, title),
        options=options,
        scenario=scenario,
        plan=plan.build(
            target,
            variant=variant,
            scenario=scenario,
            title=title,
            seed=options.seed,
            toggle=toggle,
            model=options.model,
            schedules=options.schedules,
        ),
        header={
            "target": target.name,
            "variant": variant,
            "scenario": title,
            "paper": target.description.paper,
            "summary": scenario.content.summary,
            "command": command or command_line(selection, scenario, options, config=config),
        },
    )


def command_line(
    selection: Selection,
    scenario: Scenario,
    options: ExploreOptions,
    *,
    named: Sequence[str] = (),
    config: Mapping[str, str] = OWN,
) -> str:
    """The command that repeats a run. `named`: the words that name the scenario, where it lies in no file."""
    words = ["powercut", "run", f"{selection.target.spelling}:{selection.variant}"]
    words += named or ["--scenario", catalog.spelling(scenario)]
    words += configs.words(config)
    words += ["--model", options.model, "--strategy", options.strategy]
    words += ["--nested", str(options.nested), "--seed", str(options.seed)]
    words += ["--chunk-events", str(options.chunk_events)] if options.chunk_events is not None else []
    words += options.schedules.words() if scenario.content.race else []
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
