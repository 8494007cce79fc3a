"""Options of a target that a person chose: `--config top=4`, `powercut.check(…, config={"top": 4})`.

Options that the engine would refuse without naming the right ones are refused here, with the names that the target has.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from powercut.base.errors import UsageError, nearest
from powercut.scenarios.plan import option_text, option_values
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.targets import Target

Config = Mapping[str, str | bool | int | float]
WHERE = "--config"
#: Mark in a list of values: others are allowed as well.
_OTHERS = "..."


def parse(words: Sequence[str]) -> dict[str, str]:
    """`KEY=VALUE` of a command line, each key once."""
    chosen: dict[str, str] = {}
    for word in words:
        key, separator, value = (part.strip() for part in word.partition("="))
        if not (key and separator and value):
            raise UsageError(
                f"'{word}' is no option with a value", where=WHERE, next_step="Write KEY=VALUE, such as top=4."
            )
        if chosen.setdefault(key, value) != value:
            raise UsageError(
                f"the option '{key}' is given twice, as '{chosen[key]}' and as '{value}'",
                where=WHERE,
                next_step="Give it once; two values are two commands.",
            )
    return chosen


def words(config: Mapping[str, str]) -> list[str]:
    """Reads the options of a command line, as `parse` does."""
    return [word for key, value in config.items() for word in (WHERE, f"{key}={value}")]


def title(name: str, config: Mapping[str, str]) -> str:
    """Returns the name in reports of the scenario `name` with these options instead of its own."""
    return " ".join([name, *(f"{key}={value}" for key, value in config.items())])


def without_options(name: str) -> str:
    """The scenario's own name, of what `title` made."""
    return re.sub(r"(?: [^\s=]+=\S+)+$", "", name)


def configured(scenario: Scenario, config: Mapping[str, str]) -> Scenario:
    """The scenario with these options, and with its own options where these do not set one."""
    if not config:
        return scenario
    content = scenario.content.model_copy(update={"config": {**scenario.content.config, **config}})
    return replace(scenario, content=content)


def checked_config(target: Target, config: Config, *, where: str) -> dict[str, str]:
    """The options as the target spells them; UsageError for an option that the target lacks."""
    known = option_values(target.description)
    if not isinstance(config, Mapping):
        raise UsageError(
            f"config is a dictionary, and not {config!r}", where=where, next_step='Write config={"top": 2}.'
        )
    for key, value in config.items():
        if key not in known:
            raise UsageError(
                f"unknown option of '{target.name}' '{key}'",
                where=where,
                next_step=_right(str(key), known, none="It has no option."),
            )
        if not isinstance(value, str | bool | int | float):
            raise UsageError(
                f"the option '{key}' is {value!r}", where=where, next_step="Give it a text, a number or a boolean."
            )
        allowed = known[key]
        text = option_text(value, allowed)
        if allowed and _OTHERS not in allowed and text not in allowed:
            raise UsageError(
                f"'{text}' is no value of the option '{key}'", where=where, next_step=_right(text, allowed)
            )
    return {key: option_text(value, known[key]) for key, value in config.items()}


def _right(word: str, known: Iterable[str], *, none: str = "") -> str:
    """Which names there are, and which of them is meant."""
    names = list(known)
    if not names:
        return none
    close = nearest(word, names, limit=1)
    hint = f"Did you mean '{close[0]}'? " if close else ""
    return f"{hint}There {'is' if len(names) == 1 else 'are'} {', '.join(names)}."
