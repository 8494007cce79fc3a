"""A file system's profile: a small TOML file of switches, each with its value and the sources of the belief.

A profile may name another profile that it is `like`; then it states only the switches that differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from powercut.base import paths
from powercut.base.errors import UsageError, unknown_name
from powercut.base.toml_lines import mistake, tables
from powercut.base.user_files import read_text
from powercut.models.switches import CHOICES, Switches

FORM = "The format is in replayer/media/files/PROFILES.md."


class Stated(BaseModel):
    """A switch as a file states it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    value: str
    source: list[str]

    @field_validator("source")
    @classmethod
    def _says_something(cls, source: list[str]) -> list[str]:
        if not source or not all(text.strip() for text in source):
            raise ValueError("a switch has at least one source, and no source is empty")
        return source


class _File(BaseModel):
    """The tables of a profile's file."""

    model_config = ConfigDict(extra="forbid", strict=True)

    about: str
    like: str | None = None
    order: Stated | None = None
    rename: Stated | None = None
    new_inode: Stated | None = None
    overwrite: Stated | None = None
    size: Stated | None = None
    stale: Stated | None = None
    replace: Stated | None = None
    fsync: Stated | None = None
    fdatasync: Stated | None = None
    fsync_folder: Stated | None = None
    range: Stated | None = None
    sync: Stated | None = None
    new_name: Stated | None = None

    @field_validator(*CHOICES)
    @classmethod
    def _is_a_value(cls, stated: Stated | None, info: object) -> Stated | None:
        known = CHOICES[str(getattr(info, "field_name", ""))].values
        if stated is not None and stated.value not in known:
            raise ValueError(f"'{stated.value}' is no value of this switch; use {', '.join(known)}")
        return stated


@dataclass(frozen=True, slots=True)
class Profile:
    """The beliefs about one file system."""

    name: str
    about: str
    like: str | None
    switches: Switches
    #: The switches that its own file states; the others are those of the profile that it is like.
    own: frozenset[str]
    sources: Mapping[str, Sequence[str]]


def names() -> list[str]:
    """The profiles that come with powercut, the four of the main file systems first."""
    first = ["posix", "ext4", "xfs", "btrfs"]
    found = {path.stem for path in paths.profile_dir().glob("*.toml")}
    return [name for name in first if name in found] + sorted(found - set(first))


def named(name: str) -> Profile:
    """The profile of this name, or the one of a person's own file where `name` is the path of a TOML file."""
    if name.endswith(".toml"):
        return load(Path(name))
    if name not in names():
        raise unknown_name("profile", name, names(), list_command="powercut models files")
    return load(paths.profile_dir() / f"{name}.toml")


def load(path: Path) -> Profile:
    """The profile in a file. UsageError, with the line, for a wrong file."""
    return _load(path, ())


def _load(path: Path, above: tuple[Path, ...]) -> Profile:
    place = paths.relative(path)
    text = read_text(path, "the profile", place=place, next_step=f"Name a TOML file; {FORM}")
    record = tables(text, place=place, form=FORM)
    try:
        file = _File.model_validate(record)
    except ValidationError as error:
        raise mistake(error, text, place=place, form=FORM, of="profile", keys=_keys) from error
    base = _base(file, path, above, place)
    stated = {name: getattr(file, name) for name in CHOICES if getattr(file, name) is not None}
    missing = [] if base else [name for name in CHOICES if name not in stated]
    if missing:
        what = f"the switch '{missing[0]}' is missing"
        raise UsageError(what, where=place, next_step=f"State every switch, or name a profile it is 'like'; {FORM}")
    values = asdict(base.switches) if base else {}
    switches = Switches(**(values | {name: each.value for name, each in stated.items()}))
    if fault := contradiction(switches):
        raise UsageError(fault, where=place, next_step=f"Change one of the two; {FORM}")
    sources = dict(base.sources) if base else {}
    sources |= {name: tuple(" ".join(source.split()) for source in each.source) for name, each in stated.items()}
    return Profile(path.stem, " ".join(file.about.split()), file.like, switches, frozenset(stated), sources)


def contradiction(switches: Switches) -> str | None:
    """Two values that exclude each other, as a sentence."""
    in_one_order = switches.order == "one"
    for name in ("fsync", "fdatasync", "fsync_folder"):
        value = getattr(switches, name)
        if value == "journal" and not in_one_order:
            return f"{name} = 'journal' makes a prefix durable, which needs order = 'one'"
        if value in ("names", "new-name", "entries") and in_one_order:
            return f"{name} = '{value}' makes entries durable out of turn, which order = 'one' excludes"
    if switches.new_name == "overtakes" and switches.order != "synced":
        return "new_name = 'overtakes' brings operations out of turn, which needs order = 'synced'"
    return None


def _base(file: _File, path: Path, above: tuple[Path, ...], place: str) -> Profile | None:
    if file.like is None:
        return None
    other = paths.profile_dir() / f"{file.like}.toml"
    if file.like not in names():
        known = ", ".join(names())
        raise UsageError(f"like: there is no profile '{file.like}'", where=place, next_step=f"Use one of {known}.")
    if other.resolve() in (*(each.resolve() for each in above), path.resolve()):
        raise UsageError("like: the profile is like itself", where=place, next_step=f"Name another profile; {FORM}")
    return _load(other, (*above, path))


def _keys(location: Sequence[int | str]) -> Sequence[str]:
    return list(Stated.model_fields) if len(location) > 1 else list(_File.model_fields)


assert tuple(field.name for field in fields(Switches)) == tuple(CHOICES)
