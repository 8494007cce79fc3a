"""Which lines of a scheme's protocol its core scenarios reach: `python -m tools.coverage [SCHEME]…`.

Each core scenario is recorded on a library that counts the lines that run, which covers the operations. Its crash
images are opened and queried on the same library by the audit's plain runner, which covers recovery. Planted bugs have
lines in the same sources: their scenarios are recorded with the bug, and add nothing else. Code outside of the protocol
is left out: the target's face to powercut and its checks (`LEFT_OUT`), and code that all schemes share.

A family of schemes has one protocol, in a folder of its own below `targets/common`, and each member's options reach a
part of it. The folder is judged once, in a row of its own: a line of it is reached when a member reached it. The row
needs all members; without some of them it says which.

The gate is the share of all lines of a row. Lines that were never reached are listed by file.
"""

import argparse
import json
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from powercut.base import paths
from powercut.base.errors import HarnessError, PowercutError, unknown_name
from powercut.base.exit_codes import ExitCode, worst
from powercut.cli import talk
from powercut.engine import engine, events
from powercut.scenarios import catalog, plan, targets
from powercut.scenarios.targets import Target

#: Least share of a row's lines.
WANTED = 0.95
#: Files that hold no protocol.
LEFT_OUT = frozenset({"options.cc", "options.h", "target.cc", "target.h", "verify.cc"})
_IMAGES = 400
_TOOLS = ("llvm-profdata-19", "llvm-cov-19")


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Coverage of one file: the lines that hold code, and those of them that never ran."""

    path: Path
    counted: frozenset[int]
    missed: frozenset[int]


@dataclass(frozen=True, kw_only=True)
class Row:
    """Coverage of a scheme's own folder, or of a folder that a family shares."""

    name: str
    files: tuple[Lines, ...]

    @property
    def share(self) -> float | None:
        """Share of all lines that hold code; None without any."""
        lines = sum(len(item.counted) for item in self.files)
        return 1 - sum(len(item.missed) for item in self.files) / lines if lines else None


def measure(scheme: str) -> tuple[Lines, ...]:
    """Runs the core scenarios of a scheme; HarnessError when a tool is missing or fails."""
    target = targets.find(scheme)
    library = paths.library_dir() / "coverage" / target.library.name
    if not library.is_file():
        raise HarnessError(
            "there is no library that counts lines",
            where=str(library),
            next_step="Run 'make coverage', which builds it.",
        )
    with tempfile.TemporaryDirectory(prefix="powercut-coverage-") as name:
        folder = Path(name)
        # Threads are scheduled by hooks, which this library does not have.
        fitting = [item for item in catalog.core(target.name) if target.takes(item)]
        alone = [item for item in fitting if item.content.race is None]
        for number, item in enumerate(alone):
            for variant in target.default_variants:
                wanted = plan.build(target, variant=variant, scenario=item, seed=1)
                _run(wanted, library, folder, f"{number}-{variant}")
        for number, item in enumerate(catalog.known_bugs()):
            if item.scheme == target.name and item.content.race is None:
                wanted = plan.build(target, variant=item.bug.variant, scenario=item, seed=1, toggle=item.bug.toggle)
                _record(wanted, library, folder, f"bug-{number}")
        profile = folder / "all.profdata"
        _tool(_TOOLS[0], "merge", "-o", str(profile), *map(str, folder.glob("*.profraw")))
        exported = json.loads(_tool(_TOOLS[1], "export", "-instr-profile", str(profile), str(library)))
    files = [_lines(item) for item in exported["data"][0]["files"]]
    return tuple(item for item in files if item.path.name not in LEFT_OUT and _is_protocol(item.path.parent, target))


def _home() -> Path:
    return paths.home() / "targets"


def _is_protocol(folder: Path, target: Target) -> bool:
    return folder == _home() / target.name or folder.parent == _home() / "common"


def own_row(scheme: str, files: Iterable[Lines]) -> Row:
    """The files of the scheme's own folder."""
    return Row(name=scheme, files=tuple(item for item in files if item.path.parent == _home() / scheme))


def members(folder: str) -> list[str]:
    """The schemes that use `targets/common/FOLDER`: their sources include from it."""
    wanted = f'#include "targets/common/{folder}/'
    sources = [*_home().glob("*/*.cc"), *_home().glob("*/*.h")]
    users = {source.parent.name for source in sources if wanted in source.read_text(encoding="utf-8")}
    return sorted(users - {"common"})


def shared_row(folder: str, files: Iterable[Lines]) -> Row:
    """The files of `targets/common/FOLDER` as several schemes ran them."""
    merged: dict[Path, Lines] = {}
    for item in files:
        if item.path.parent != _home() / "common" / folder:
            continue
        one = merged.get(item.path, Lines(path=item.path, counted=frozenset(), missed=frozenset()))
        reached = (one.counted - one.missed) | (item.counted - item.missed)
        counted = one.counted | item.counted
        merged[item.path] = Lines(path=item.path, counted=counted, missed=counted - reached)
    name = f"common/{folder} ({', '.join(members(folder))})"
    return Row(name=name, files=tuple(merged[path] for path in sorted(merged)))


def _run(wanted: dict[str, Any], library: Path, folder: Path, name: str) -> None:
    _record(wanted, library, folder, name)
    plan_file, trace = folder / f"{name}.json", folder / f"{name}.pct"
    plan_file.write_text(json.dumps(wanted), encoding="utf-8")
    _engine(["record", "--plan", str(plan_file), "--trace", str(trace)], events.Recorded, None)
    images = ["audit", "--trace", str(trace), "--images", str(_IMAGES), "--plain", str(library)]
    _engine(images, events.Audited, folder / f"{name}-recovery%c.profraw")


def _record(wanted: dict[str, Any], library: Path, folder: Path, name: str) -> None:
    """On the library that counts."""
    plan_file, trace = folder / f"{name}.json", folder / f"{name}.pct"
    counted = {**wanted, "target": {**wanted["target"], "library": str(library)}}
    plan_file.write_text(json.dumps(counted), encoding="utf-8")
    arguments = ["record", "--plan", str(plan_file), "--trace", str(trace), "--unseen-stores"]
    _engine(arguments, events.Recorded, folder / f"{name}-operations%c.profraw")


def _engine(arguments: Sequence[str], kind: type[events.Event], profile: Path | None) -> None:
    before = os.environ.get("LLVM_PROFILE_FILE")
    try:
        if profile is not None:
            os.environ["LLVM_PROFILE_FILE"] = str(profile)
        engine.single(paths.engine(), arguments, kind)
    finally:
        os.environ.pop("LLVM_PROFILE_FILE", None)
        if before is not None:
            os.environ["LLVM_PROFILE_FILE"] = before


def _tool(name: str, *arguments: str) -> str:
    try:
        done = subprocess.run([name, *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise HarnessError(f"{name} is not installed", where=name, next_step="Run 'make setup'.") from error
    if done.returncode != 0:
        said = done.stderr.strip().splitlines() or ["it said nothing"]
        raise HarnessError(
            f"exit status {done.returncode} ({said[-1]})", where=name, next_step="Run 'make coverage' again."
        )
    return done.stdout


def _lines(file: dict[str, Any]) -> Lines:
    """Counts of lines from the segments of llvm-cov: [line, column, count, has count, is region entry, is gap].

    As llvm-cov has them: a line has the largest count of the segments that begin on it and of those that reach into it
    from above. Which lines hold code therefore does not depend on the run, though segments of equal counts are joined.
    Gaps are blank.
    """
    segments = file["segments"]
    counts: dict[int, int] = {}
    for position, (line, _, count, counted, entry, gap) in enumerate(segments):
        if not counted or gap:
            continue
        end = segments[position + 1][0] if position + 1 < len(segments) else line
        for number in range(line if entry else line + 1, end + 1):
            counts[number] = max(counts.get(number, 0), count)
    missed = frozenset(number for number, count in counts.items() if count == 0)
    return Lines(path=Path(file["filename"]), counted=frozenset(counts), missed=missed)


def spans(lines: Iterable[int]) -> str:
    """{3, 4, 5, 9} as "3-5 9"."""
    out: list[list[int]] = []
    for line in sorted(lines):
        if out and out[-1][1] == line - 1:
            out[-1][1] = line
        else:
            out.append([line, line])
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in out)


def _judge(row: Row) -> ExitCode:
    """Prints a row and the lines that were not reached."""
    if row.share is None:
        print(f"{row.name:12} has no protocol of its own", flush=True)
        return ExitCode.CLEAN
    enough = row.share >= WANTED
    print(f"{row.name:12} {row.share:6.1%} of the protocol's lines{'' if enough else '  TOO FEW'}", flush=True)
    for item in row.files:
        if item.missed:
            print(f"    {item.path.name}: {spans(item.missed)}")
    return ExitCode.CLEAN if enough else ExitCode.FINDINGS


def _judge_shared(folder: str, measured: dict[str, tuple[Lines, ...]]) -> ExitCode:
    """Returns the row of a folder that a family shares, of which every member is needed."""
    missing = [name for name in members(folder) if name not in measured]
    row = shared_row(folder, (item for files in measured.values() for item in files))
    if not missing:
        return _judge(row)
    print(f"{row.name} is judged with all its members; not measured: {', '.join(missing)}")
    return ExitCode.INCOMPLETE


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints a row for each scheme, and one for each folder that a family shares."""
    parser = argparse.ArgumentParser(prog="python -m tools.coverage", description="Lines that core scenarios reach.")
    parser.add_argument("schemes", nargs="*", metavar="SCHEME")
    given = parser.parse_args(arguments)
    known = [name for name in targets.libraries() if name not in targets.SELF_TEST_TARGETS]
    codes: list[ExitCode] = []
    measured: dict[str, tuple[Lines, ...]] = {}
    try:
        for scheme in given.schemes or known:
            if scheme not in known:
                raise unknown_name("scheme", scheme, known, list_command="powercut list targets")
            measured[scheme] = measure(scheme)
            codes.append(_judge(own_row(scheme, measured[scheme])))
        folders = {item.path.parent for files in measured.values() for item in files}
        for folder in sorted(folder.name for folder in folders if folder.parent == _home() / "common"):
            codes.append(_judge_shared(folder, measured))
    except PowercutError as error:
        talk.say_error(error)
        return int(error.exit_code)
    return int(worst(codes))


if __name__ == "__main__":
    raise SystemExit(main())
