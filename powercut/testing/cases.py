"""Cases of a marker `powercut(target=…, scenario=…, model=…)`: one for each target, scenario and model.

Collection starts no engine (but for a library that is named by its path): the files of the scenarios say which targets
they fit, and the names of the libraries which targets there are. Whether a variant exists is for the run to say. A
mistake becomes a case that fails with one paragraph, so that it keeps no other test from running.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import PowercutError, UsageError, nearest, unknown_name
from powercut.engine.options import DEFAULT_MODEL
from powercut.scenarios import catalog, targets
from powercut.scenarios.scenario import Scenario
from powercut.testing.api import Result

WHERE = "@pytest.mark.powercut"
ALLOWED = ("target", "scenario", "model", "strategy", "seed", "complete")
_EXAMPLE = "Write @pytest.mark.powercut(target='level:hardened', scenario='insert')."


@dataclass(frozen=True, kw_only=True)
class Case:
    """One target and one scenario, or what is wrong with the marker."""

    target: str = ""
    #: As on the command line; None: the core scenarios.
    scenario: str | None = None
    model: str = DEFAULT_MODEL
    #: `strategy`, `seed` and `complete` of the marker.
    options: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    #: True if the marker does not name this case: the test is skipped where the case does not apply to the target.
    optional: bool = False
    error: PowercutError | None = None

    @property
    def id(self) -> str:
        """ "level:hardened-insert", with the model unless it is the default one."""
        target = self.target.rpartition("/")[2]
        if self.error:
            return "-".join(part for part in (target, "error") if part)
        words = [target, self.name, *([self.model] if self.model != DEFAULT_MODEL else [])]
        return "-".join(words)


@dataclass(kw_only=True)
class CrashTest:
    """The value of the fixture `powercut_case`: the case of this test, and its result once it was judged."""

    case: Case
    judged: Result | None = None

    @property
    def target(self) -> str:
        return self.case.target

    @property
    def scenario(self) -> str:
        return self.case.name

    @property
    def model(self) -> str:
        return self.case.model

    @property
    def result(self) -> Result:
        """The result of the case; there before the body of the test begins."""
        if self.judged is None:
            raise UsageError(
                "there is no result before the body of the test", where="powercut_case", next_step="Ask for it there."
            )
        return self.judged


def cases(arguments: Sequence[Any], names: Mapping[str, Any]) -> list[Case]:
    """The cases of one marker, in the order in which it names targets, scenarios and models."""
    try:
        values = checked(arguments, names)
        given = _texts(values.pop("target"), "target")
        patterns = _texts(values.pop("scenario", None) or [], "scenario")
        models = _texts(values.pop("model", DEFAULT_MODEL), "model")
    except PowercutError as error:
        return [Case(error=error)]
    found: list[Case] = []
    for target in given:
        try:
            scenarios = list(_scenarios(target, patterns))
        except PowercutError as error:
            found.append(Case(target=target, error=error))
            continue
        found += [
            Case(
                target=target,
                scenario=catalog.spelling(item),
                model=model,
                options=values,
                name=item.name,
                optional=catalog.is_optional(item, patterns),
            )
            for item in scenarios
            for model in models
        ]
    return found


def checked(arguments: Sequence[Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """The marker's values by name; UsageError for what it does not take."""
    values = dict(names)
    if arguments:
        values["target"], *rest = arguments
        if rest or "target" in names:
            raise UsageError("the marker takes the target and otherwise names", where=WHERE, next_step=_EXAMPLE)
    for name in values:
        if name not in ALLOWED:
            close = nearest(name, ALLOWED, limit=1)
            hint = f"Did you mean '{close[0]}'?" if close else f"There are {', '.join(ALLOWED)}."
            raise UsageError(f"unknown name '{name}'", where=WHERE, next_step=hint)
    if "target" not in values:
        raise UsageError("no target", where=WHERE, next_step="Name one: target='level:hardened'.")
    return values


def _texts(value: Any, name: str) -> list[str]:
    """One text, or several."""
    given = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
    if not all(isinstance(item, str) and item for item in given) or (name != "scenario" and not given):
        raise UsageError(f"'{name}' is {value!r}", where=WHERE, next_step="Write a text, or a list of texts.")
    return list(dict.fromkeys(given))


def _scenarios(target: str, patterns: Sequence[str]) -> Iterator[Scenario]:
    name, library = _library(target)
    beside = catalog.own(library) or []
    if not patterns:
        found = catalog.core(name, library)
    else:
        named = [item for pattern in patterns for item in catalog.matching(pattern, beside=beside)]
        found = [item for item in {(item.path, item.name): item for item in named}.values() if item.fits(name)]
    if not found:
        raise UsageError(
            f"none of these scenarios fits '{name}'" if patterns else f"'{name}' has no core scenario",
            where=f"{WHERE}: {' '.join(patterns)}" if patterns else WHERE,
            next_step="'powercut list scenarios' shows which scenario is for which target.",
        )
    yield from found


def _library(target: str) -> tuple[str, Path]:
    """The name of a target and its library.

    A library that lies elsewhere is asked for its name. A library that a fixture of the tests is still to build goes by
    the name of its file, if there are scenarios beside it.
    """
    name = target if Path(target).is_file() else target.partition(":")[0]
    if "/" in name or name.endswith(".so"):
        path = Path(name)
        if not path.exists() and catalog.own(path) is not None:
            return path.name.removeprefix("lib").partition(".")[0], path
        found = targets.find(name)
        return found.name, found.library
    known = targets.libraries()
    if not known:
        raise UsageError("no target was built", where=str(paths.library_dir()), next_step=paths.BUILD_STEP)
    if name not in known:
        raise unknown_name("target", name, known, list_command="powercut list targets")
    return name, known[name]
