"""How crash images are judged: the commands of the user, checked, and what the engine and the records hear of them."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from powercut.base.errors import UsageError
from powercut.program import binary as program_binary
from powercut.program import probes
from powercut.program.options import DEFAULT_IMAGES, ProgramOptions
from powercut.program.words import duration, words, working_folder
from powercut_records.program import Program as ProgramRecord

#: Names the folder in which crash images are made; /dev/shm without it.
WORK = "POWERCUT_WORK"


@dataclass(frozen=True, kw_only=True)
class Recovery:
    """How crash images are judged."""

    #: Exit status 0: it recovered. Words that name a pool are replaced by the image's file.
    recover: tuple[str, ...]
    #: Run after recovery; exit status 0: what it left is consistent.
    check: tuple[str, ...] = ()
    #: Run after recovery; what it prints is compared with what the history allows.
    dump: tuple[str, ...] = ()
    #: Run after that, in this order: each uses the recovered pool, and what it prints is compared as well.
    probes: tuple[tuple[str, ...], ...] = ()
    #: The work of a second life, run behind recovery and cut once more; empty: a run has one life.
    continuation: tuple[str, ...] = ()
    #: Whether the order counts in which `dump` and `probes` print their lines.
    ordered: bool = False
    #: Seconds that each command may take.
    timeout: float
    #: Crash images of one crash point that are tried where not all can be.
    images: int = DEFAULT_IMAGES
    cwd: Path
    #: As in `Recording`, or the folder that is judged; empty for a trace, which knows its pools.
    pools: tuple[Path, ...] = ()

    def described(self) -> dict[str, Any]:
        """As it stands in records."""
        return {
            field.name: _plain(getattr(self, field.name)) for field in fields(self) if field.name not in _OF_RECORDING
        }

    @staticmethod
    def of_record(described: ProgramRecord) -> "Recovery":
        """The recovery of a record that `described` wrote."""
        known = {
            field.name: _made(getattr(described, field.name))
            for field in fields(Recovery)
            if field.name not in _OF_RECORDING
        }
        pools = tuple(Path(pool.path) for pool in described.pools)
        return Recovery(**{**known, "cwd": Path(described.cwd), "pools": pools})

    def engine_words(self) -> list[str]:
        """The engine's options for what is done with each image: a command of the user, a limit, a switch."""
        found: list[str] = []
        for field in fields(self):
            name, value = f"--{_FLAGS.get(field.name) or field.name.replace('_', '-')}", getattr(self, field.name)
            if field.name in (*_OF_RECORDING, *_OF_EXPLORING):
                continue
            if isinstance(value, bool):
                found += [name] if value else []
            elif isinstance(value, int | float):
                found += [name, f"{value:g}"]
            elif value and isinstance(value[0], tuple):
                for command in value:
                    found += [name.removesuffix("s"), json.dumps(self._with_real_paths(command))]
            elif value:
                found += [name, json.dumps(self._with_real_paths(value))]
        if folder := os.environ.get(WORK):
            found += ["--work", os.path.abspath(folder)]
        return found

    def _with_real_paths(self, command: Sequence[str]) -> list[str]:
        """The command with each pool, and each path below a folder, under its real path: the engine knows only that
        name, and a word may be a link."""
        first, *rest = command
        return [first, *map(self._with_real_path, rest)]

    def _with_real_path(self, word: str) -> str:
        real = Path(os.path.realpath(self.cwd / word)) if word and "\0" not in word else None
        return os.fspath(real) if real and any(real.is_relative_to(pool) for pool in self.pools) else word


#: Flags with another name than their field.
_FLAGS = {"continuation": "continue"}
#: Fields that the engine reads from the trace, and fields that only an exploration has.
_OF_RECORDING = ("pools",)
_OF_EXPLORING = ("images", "cwd")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return os.fspath(value) if isinstance(value, Path) else value


def _made(value: Any) -> Any:
    return tuple(_made(item) for item in value) if isinstance(value, list) else value


def recovery(given: ProgramOptions) -> Recovery:
    """The commands that judge an image. UsageError when one of them cannot be run."""
    folder = working_folder(given.cwd)
    if given.recover is None:
        raise UsageError(
            "a recorded program needs a command that recovers from what a power cut leaves",
            where="--recover",
            next_step=f"Name one, such as --recover './prog check {given.files or 'POOL'}'; it ends with status 0 when "
            "all is good.",
        )
    asked = probes.given(given.probe or [], script=given.probe_script, cwd=given.cwd)
    made = Recovery(
        recover=words(given.recover, option="--recover"),
        check=words(given.check, option="--check"),
        dump=words(given.dump, option="--dump"),
        probes=asked,
        continuation=words(given.continuation, option="--continue"),
        ordered=given.ordered,
        timeout=duration(given.timeout, option="--timeout"),
        images=given.images,
        cwd=folder,
    )
    judging = (("--recover", made.recover), ("--check", made.check), ("--dump", made.dump))
    for option, command in (*judging, ("--continue", made.continuation)):
        if command:
            program_binary.find(command[0], cwd=folder, option=option)
    return made
