"""The programs under test: found as `build/lib/libpowercut-*.so`, described by the engine.

A target is named `name` or `name:variant`, or by the path of its library, with the same suffix.
"""

import shlex
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from powercut.base import paths, resources, trust
from powercut.base.errors import EngineDied, PowercutError, UsageError, unknown_name
from powercut.base.user_files import refuse_other_kinds
from powercut.engine import engine, events
from powercut.scenarios.scenario import Scenario
from powercut.scenarios.sizes import Sizes, ends

_PREFIX, _SUFFIX = "libpowercut-", ".so"
#: Targets that exist to test powercut; a run without names leaves them out.
SELF_TEST_TARGETS = frozenset({"patterns"})
#: The variants that a run without names judges, where a target has them.
_DEFAULT_VARIANTS = ("hardened", "published")


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target library and what it says of itself."""

    library: Path
    description: events.TargetDescription

    @property
    def name(self) -> str:
        return self.description.name

    @property
    def is_of_the_build(self) -> bool:
        """False for a library that was named by its path and lies elsewhere."""
        return self.library.resolve().parent == paths.library_dir().resolve()

    @property
    def spelling(self) -> str:
        """Returns the target's name on a command line: its name, or the path of a library that lies elsewhere."""
        return self.name if self.is_of_the_build else paths.relative(self.library, root=Path.cwd())

    def takes(self, scenario: Scenario) -> bool:
        """False if a scenario for every map has items that differ in size and this target, by default, has not.

        A scheme's own scenario sets the options that it needs.
        """
        mixes = bool((self.description.traits or {}).get("mixed_sizes"))
        return mixes or not (scenario.is_for_every_map and scenario.content.data.are_mixed)

    @property
    def default_variants(self) -> list[str]:
        """Returns the variants that `powercut run` without a name judges: hardened and published, else the first
        variant."""
        variants = self.description.variants
        return [name for name in _DEFAULT_VARIANTS if name in variants] or variants[:1]


@dataclass(frozen=True, kw_only=True)
class Selection:
    """One target in one variant."""

    target: Target
    variant: str


def libraries() -> dict[str, Path]:
    """Library of every target of the build, by the name in the file's name; sorted."""
    found = sorted(paths.library_dir().glob(f"{_PREFIX}*{_SUFFIX}"))
    return {path.name.removeprefix(_PREFIX).removesuffix(_SUFFIX): path for path in found}


@cache
def describe(library: Path) -> Target:
    """Loads a library in the engine and reads its description. UsageError for a library of another ABI or that cannot
    be loaded."""
    try:
        event, _ = engine.single(paths.engine(), ["describe", "--library", str(library)], events.Described)
    except EngineDied as died:
        if resources.memory_limit():
            raise  # it says so
        # All that ran was the library: its constructors, its entry and its traits.
        raise UsageError(
            f"the library ends the process that loads it ({died.how})",
            where=str(library),
            next_step="Look for an exit or a crash in its constructors, in what it links, or in traits.",
        ) from died
    assert isinstance(event, events.Described)
    return Target(library=library, description=event.target)


@dataclass(frozen=True, kw_only=True)
class Configured:
    """A target in one configuration: sizes that the target takes, and its description in these sizes."""

    sizes: Sizes
    traits: dict[str, Any]
    device: events.TargetDevice | None


@cache
def configured(
    library: Path, variant: str, config: tuple[tuple[str, str], ...], tried: tuple[Sizes, ...]
) -> Configured | None:
    """The first sizes of `tried` that a target takes with the options `config`; None where it takes none."""
    for sizes in tried:
        try:
            event, _ = engine.single(paths.engine(), _asked(library, variant, config, sizes), events.Described)
        except PowercutError:
            continue
        assert isinstance(event, events.Described)
        return Configured(sizes=sizes, traits=event.target.traits or {}, device=event.target.device)
    return None


def refusal(library: Path, variant: str, config: tuple[tuple[str, str], ...], sizes: Sizes) -> str:
    """Returns a target's objection to `sizes` with the options `config`; empty where the target takes them."""
    try:
        engine.single(paths.engine(), _asked(library, variant, config, sizes), events.Described)
    except PowercutError as error:
        return error.what
    return ""


def _asked(library: Path, variant: str, config: tuple[tuple[str, str], ...], sizes: Sizes) -> list[str]:
    words = ["describe", "--library", str(library), "--variant", variant]
    for key, value in config:
        words += ["--option", f"{key}={value}"]
    for name, size in zip(("key-size", "value-size"), sizes, strict=True):
        least, most = ends(size)
        words += [f"--{name}", str(most), *([f"--least-{name}", str(least)] if least < most else [])]
    return words


def forget() -> None:
    """Describes libraries anew; for tests and long-lived processes."""
    describe.cache_clear()
    configured.cache_clear()


def find(name: str) -> Target:
    """The target called `name`, or the library at the path `name`."""
    if "/" in name or name.endswith(_SUFFIX):
        path = Path(name)
        if path.is_dir():
            raise UsageError("this is a folder", where=name, next_step="Name the target library in it (lib….so).")
        if path.suffix == ".toml":
            raise UsageError(
                "this is no target library",
                where=name,
                next_step=f"Name the target first, and the scenario's file so: TARGET --scenario {shlex.quote(name)}.",
            )
        refuse_other_kinds(path, place=name, next_step="Name the target's shared library.")
        if not path.is_file():
            raise UsageError(
                "no such target library",
                where=name,
                next_step="Build it with 'powercut cc -shared -fPIC'. 'powercut list targets' shows what is built in.",
            )
        try:
            str(path.resolve()).encode()
        except UnicodeEncodeError as error:
            raise UsageError(
                "the path of this library is not UTF-8 text",
                where=name,
                next_step="Rename it, or the folder that it lies in: plans and records are JSON, which names it.",
            ) from error
        # Loaded from here on, by the word of the user.
        trust.remember([trust.library(path)])
        return describe(path.resolve())
    known = libraries()
    if not known:
        raise UsageError("no target was built", where=str(paths.library_dir()), next_step=paths.BUILD_STEP)
    if name not in known:
        raise unknown_name("target", name, known, list_command="powercut list targets")
    return describe(known[name])


def select(names: list[str]) -> list[Selection]:
    """The targets and variants of a command line, in its order; every default one when it names none."""
    if names:
        named = [_named(name) for name in names]
        return list({(item.target.library, item.variant): item for item in named}.values())
    chosen = [find(name) for name in libraries() if name not in SELF_TEST_TARGETS]
    if not chosen:
        raise UsageError("no target was built", where=str(paths.library_dir()), next_step=paths.BUILD_STEP)
    return [Selection(target=target, variant=variant) for target in chosen for variant in target.default_variants]


def _named(text: str) -> Selection:
    # A path may hold a colon of its own.
    name, _, variant = (text, "", "") if Path(text).is_file() else text.partition(":")
    target = find(name)
    return Selection(target=target, variant=check_variant(target, variant or target.description.variants[0]))


def check_variant(target: Target, variant: str) -> str:
    """`variant` itself when the target has it; else a UsageError."""
    if variant not in target.description.variants:
        raise unknown_name(
            f"variant of '{target.name}'", variant, target.description.variants, list_command="powercut list targets"
        )
    return variant
