"""The plan that the engine records: a target's library, its options, and a scenario (scenarios/SCHEMA.md)."""

import os
from typing import Any

from powercut.base.errors import UsageError
from powercut.engine.events import TargetDescription
from powercut.engine.options import (
    DEFAULT_MODEL,
    DEFAULT_SCHEDULES,
    DEFAULT_SEARCH,
    DEFAULT_VISIBILITY,
    RECORDED,
    STORE_BUFFERS,
    UNCHOSEN,
    Schedules,
)
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.schema import Phase, Search
from powercut.scenarios.sizes import Sizes, in_plan
from powercut.scenarios.steps import AnyStep, KeyStep
from powercut.scenarios.targets import Target, configured
from powercut_records import media

PLAN_VERSION = 1
#: The option of a target that switches one of its known bugs on.
BUG_OPTION = "bug"
#: The option by which a target takes its locks or its lock-free protocol, and the value.
CONCURRENCY = ("concurrency", "concurrent")


def build(
    target: Target,
    *,
    variant: str,
    scenario: Scenario,
    title: str = "",
    seed: int,
    toggle: str | None = None,
    model: str = DEFAULT_MODEL,
    schedules: Schedules = UNCHOSEN,
) -> dict[str, Any]:
    """The plan of one run. `toggle` switches a known bug on; without it the target is as it should be.

    `title` is what the run is called, where that is not the scenario's name.

    `model` and `schedules` are those of the run; they count where the scenario has threads.
    """
    content = scenario.content
    if not scenario.fits(target.name):
        raise UsageError(
            f"the scenario is for {', '.join(content.targets)}, not for '{target.name}'",
            where=scenario.place,
            next_step=f"'powercut list scenarios' shows what fits '{target.name}'.",
        )
    refuse_oversized_pool(scenario)
    key_size, value_size = data_sizes(target, scenario)
    options = _options(target, scenario)
    if toggle is not None:
        options[BUG_OPTION] = toggle
    return {
        "plan": PLAN_VERSION,
        "target": {
            "library": str(target.library),
            "name": target.name,
            "variant": variant,
            "options": options,
        },
        "scenario": {
            "name": title or scenario.name,
            "pool_size": content.pool.size,
            "key_size": in_plan(key_size),
            "value_size": in_plan(value_size),
            "expect_marks": list(content.expect_marks),
            "phases": [_phase(phase) for phase in content.phases],
        },
        **({"search": search(content.search or Search(), schedules, model=model)} if content.race else {}),
        "seed": seed,
    }


def _options(target: Target, scenario: Scenario) -> dict[str, str]:
    """The scenario's options as texts. A scenario with threads asks for a table that threads may use."""
    known = option_values(target.description)
    options = {key: option_text(value, known.get(key, [])) for key, value in scenario.content.config.items()}
    option, value = CONCURRENCY
    if scenario.content.race is not None and value in known.get(option, []):
        options.setdefault(option, value)
    return options


def medium(target: Target, *, variant: str, scenario: Scenario) -> media.Medium:
    """Returns a target's kind of pool with the scenario's options."""
    device = target.description.device
    if device is not None and scenario.content.config:
        options = tuple(_options(target, scenario).items())
        known = configured(target.library, variant, options, (data_sizes(target, scenario),))
        device = known.device if known else device  # the run tells of options that the target refuses
    return media.named(device.medium) if device else media.MEMORY


def _phase(phase: Phase) -> dict[str, Any]:
    common = {"name": phase.name, "explore": phase.explore, "cut_at": phase.cut_at}
    if phase.threads:
        threads = [[_step(step) for step in thread] for thread in phase.threads]
        return {**common, "threads": threads, **({"alike": True} if phase.alike else {})}
    return {**common, "steps": [_step(step) for step in phase.steps]}


def search(own: Search, chosen: Schedules, *, model: str) -> dict[str, Any]:
    """Which schedules the engine runs: those that are `chosen`, else the scenario's `own`.

    Keys of a scenario about another kind of search than the chosen one do not count.
    """
    kind = chosen.search or own.kind
    if kind != own.kind:
        own = Search()
    if kind != DEFAULT_SEARCH and isinstance(chosen.preemptions, int):
        raise UsageError(
            f"preemptions are a bound of the search '{DEFAULT_SEARCH}'; the scenario's is '{kind}'",
            where="--preemptions",
            next_step=f"Leave it out, or write --search {DEFAULT_SEARCH}.",
        )
    preemptions = own.preemptions if chosen.preemptions is None else chosen.preemptions
    visibility = chosen.visibility or own.visibility
    if visibility == STORE_BUFFERS and (kind == RECORDED or model != DEFAULT_MODEL):
        raise UsageError(
            f"store buffers are followed in schedules that are searched, and for the model '{DEFAULT_MODEL}'",
            where=f"--visibility {STORE_BUFFERS}",
            next_step=f"Leave out --search {RECORDED}." if kind == RECORDED else f"Leave out --model {model}.",
        )
    usual = {DEFAULT_SEARCH: 0, RECORDED: 1}.get(kind, DEFAULT_SCHEDULES)
    return {
        "kind": kind,
        "preemptions": None if preemptions == "none" else preemptions,
        "schedules": chosen.schedules or own.schedules or usual,
        "model": model,
        **({"visibility": visibility} if visibility != DEFAULT_VISIBILITY else {}),
    }


def data_sizes(target: Target, scenario: Scenario) -> Sizes:
    """Sizes of keys and values of a run: those of the scenario; or, of one that is for every map, the first that the
    target declares, unless it declares the scenario's as well. A scenario of mixed sizes keeps its own."""
    own = scenario.content.data.sizes
    declared = target.description.sizes
    if scenario.content.data.are_mixed:
        return own
    return declared[0] if scenario.is_for_every_map and declared and own not in declared else own


def _step(step: Any) -> dict[str, Any]:
    """A step as the engine reads it: defaults filled in, absent alternatives left out."""
    if isinstance(step, AnyStep):
        return {"any": [_step(one) for one in step.any]}
    values: dict[str, Any] = step.model_dump(by_alias=True)
    if isinstance(step, KeyStep):
        return {key: value for key, value in values.items() if value is not None}
    return values


def option_values(description: TargetDescription) -> dict[str, list[str]]:
    """The values of each option line "key=default|other|…: what it does"; empty where any value goes."""
    values: dict[str, list[str]] = {}
    for line in description.options:
        key, separator, rest = line.partition("=")
        if separator:
            values[key.strip()] = [word.strip() for word in rest.split(":")[0].split("|")]
    return values


def option_text(value: str | bool | int | float, allowed: list[str]) -> str:
    """An option's value as text. A TOML boolean takes the spelling that the target lists, else true or false."""
    if not isinstance(value, bool):
        return str(value)
    for yes, no in (("true", "false"), ("on", "off"), ("yes", "no"), ("1", "0")):
        if yes in allowed or no in allowed:
            return yes if value else no
    return "true" if value else "false"


def available_memory() -> int:
    """Bytes that a process can still get without swapping (`MemAvailable`)."""
    try:
        with open("/proc/meminfo", encoding="ascii") as table:
            for line in table:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def refuse_oversized_pool(scenario: Scenario) -> None:
    """UsageError when the pool cannot fit; the engine keeps two copies of it (current and durable)."""
    size, memory = scenario.content.pool.size, available_memory()
    if 2 * size > memory:
        raise UsageError(
            f"a pool of {size >> 20} MiB needs {2 * size >> 20} MiB of memory; {memory >> 20} MiB are available",
            where=scenario.place,
            next_step="Make [pool] size smaller, or free memory.",
        )
