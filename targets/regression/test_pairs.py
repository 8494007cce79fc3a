"""Judges every pair of these folders: the bug must be found, or be said to be unknown; the twin must be clean."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import powercut
from powercut.base import paths
from powercut.base.exit_codes import ExitCode
from powercut.testing.api import InconsistentError, Result, UnknownError

HERE = Path(__file__).parent
LINE = re.compile(r"// (class|bug|cut|operations|options|twin|flags|needs): (.+)")
OPERATIONS = [("insert", 1), ("insert", 2), ("insert", 3)]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """The claims in the first lines of a pair (README.md)."""

    name: str
    group: str
    #: Invariants that count as found; empty: the bug is beyond sight.
    found: frozenset[str]
    #: Whether the finding needs a power cut; None: the pair does not say.
    needs_power_cut: bool | None
    twin: ExitCode
    operations: list[Any]
    options: dict[str, Any]
    needs: str | None


def read(source: Path) -> Pair:
    """The pair of a source file."""
    head = source.read_text(encoding="utf-8").split("\n#", 1)[0]
    said = {match[1]: match[2] for line in head.splitlines() if (match := LINE.fullmatch(line.strip()))}
    unknown = said["bug"].startswith("unknown: ")
    return Pair(
        name=source.stem,
        group=said["class"],
        needs_power_cut={"needed": True, "none needed": False}[said["cut"]] if "cut" in said else None,
        found=frozenset() if unknown else frozenset(re.split(r",\s*", said["bug"])),
        twin=ExitCode.INCOMPLETE if "twin" in said else ExitCode.CLEAN,
        operations=ast.literal_eval(said.get("operations", repr(OPERATIONS))),
        options=ast.literal_eval(said.get("options", "{}")),
        needs=said.get("needs"),
    )


def sources() -> list[Path]:
    """Every pair."""
    return sorted(path for path in HERE.glob("*/*.c*") if path.suffix in (".c", ".cc") and ".plain" not in path.name)


def judge(pair: Pair, kind: str, folder: Path) -> tuple[ExitCode, set[str]]:
    """The exit code of one half, and the invariants that it violates, with a cut or without one as the pair says."""
    library = paths.library_dir() / "regression" / f"{pair.name}-{kind}.so"
    heard: list[Result] = []
    options = dict(pair.options)
    watchdog = options.pop("watchdog", None)
    session = powercut.Session(out=folder, heard=heard.append, watchdog=watchdog, keep_going=True)
    try:
        session.check(str(library), pair.operations, complete=True, **options)
    except InconsistentError:
        (result,) = heard
        said = pair.needs_power_cut
        shown = [item for item in result.findings if said is None or item["needs_power_cut"] is said]
        named = {finding["invariant"] for finding in shown}
        return ExitCode.FINDINGS, named | {finding["underlying"] for finding in shown} - {None, ""}
    except UnknownError:
        return ExitCode.INCOMPLETE, set()
    return ExitCode.CLEAN, set()


def skip_without(needs: str | None) -> None:
    """Skips a pair whose instructions this processor does not have."""
    if needs is not None and needs not in Path("/proc/cpuinfo").read_text(encoding="ascii").split():
        pytest.skip(f"this processor lacks {needs}")


PAIRS = [pytest.param(read(path), id=f"{read(path).group.replace(' ', '-')}:{path.stem}") for path in sources()]


@pytest.mark.parametrize("pair", PAIRS)
def test_the_bug_is_not_clean(pair: Pair, real_engine: None, tmp_path: Path) -> None:
    skip_without(pair.needs)
    code, invariants = judge(pair, "bug", tmp_path)
    if pair.found:
        assert code is ExitCode.FINDINGS, f"{pair.name} ended with exit code {int(code)}"
        assert invariants & pair.found, f"{pair.name} violates {sorted(invariants)}, and not {sorted(pair.found)}"
    else:
        assert code is ExitCode.INCOMPLETE, f"{pair.name} ended with exit code {int(code)}: {sorted(invariants)}"


@pytest.mark.parametrize("pair", PAIRS)
def test_the_twin_is_clean(pair: Pair, real_engine: None, tmp_path: Path) -> None:
    skip_without(pair.needs)
    code, invariants = judge(pair, "twin", tmp_path)
    assert code is pair.twin, f"the twin of {pair.name} ended with exit code {int(code)}: {sorted(invariants)}"
