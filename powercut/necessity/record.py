"""The necessity record (checker/RUN.md), and the findings that prove a site necessary, each with its trace."""

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut.base.output_files import write_json
from powercut.necessity.sites import Site
from powercut.necessity.unedited_run import UneditedRun
from powercut.necessity.verdict import RESULTS, Shown, Verdict
from powercut.runs.runner import slug
from powercut_records.base import changed

NECESSITY_VERSION = 2
FOLDER = "necessity"


def path_of(out: Path, target: str, variant: str) -> Path:
    """Where the record of a target lies."""
    return out / FOLDER / f"{slug(target, variant)}.json"


def keep_proof(site: Site, verdict: Verdict, *, out: Path) -> dict[str, Any] | None:
    """Puts the finding that proves a site necessary on disk, with the trace that it replays on.

    Two sites may be proven by findings of one fingerprint, on traces of their own: its file is named by the site too.
    """
    drop = verdict.proof
    if drop is None or drop.finding is None:
        return None
    trace = out / "traces" / drop.trace.name
    trace.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(drop.trace, trace)
    fingerprint = drop.finding.fingerprint
    path = out / "findings" / f"{fingerprint}-without-{site.slug}.json"
    # No plan: recorded anew, the run would have the flush or fence again.
    proof = changed(
        drop.finding,
        file=str(path),
        reproduce=f"powercut reproduce {shlex.quote(str(path))}",
        trace=str(trace),
        plan=None,
        without={"kind": site.kind, "name": site.name, "site": site.place, "function": site.function},
    )
    write_json(path, proof.as_json())
    return {
        "invariant": proof.invariant,
        "message": proof.message,
        "scenario": drop.unedited.scenario,
        "fingerprint": fingerprint,
        "file": str(path),
    }


def of_site(
    shown: Shown, verdict: Verdict, finding: dict[str, Any] | None, reaching: Sequence[UneditedRun]
) -> dict[str, Any]:
    """One entry of `sites`."""
    site = shown.site
    occurrences = [unedited.sites[site] for unedited in reaching]
    return {
        "kind": site.kind,
        "name": site.name,
        "site": site.place,
        "function": site.function,
        "source": site.text,
        "count": sum(len(item.events) for item in occurrences),
        "idle": sum(item.idle for item in occurrences),
        "in_recovery": any(item.in_recovery for item in occurrences),
        "scenarios": [unedited.scenario for unedited in reaching],
        "crash_states": _states(shown) if verdict.complete and finding is None else None,
        "result": verdict.result,
        "why": verdict.why,
        "complete": verdict.complete,
        "finding": finding,
    }


def _states(shown: Shown) -> dict[str, str]:
    """Crash states of all runs that reach the site. Without a fence its own crash points are missing."""
    return {
        "with": str(sum(drop.unedited.explored.crash_states for drop in shown.drops)),
        "without": str(sum(drop.explored.crash_states for drop in shown.drops)),
    }


def assemble(
    header: dict[str, Any],
    unedited_runs: Sequence[UneditedRun],
    sites: Sequence[dict[str, Any]],
    *,
    of: int,
    errors: Sequence[str],
    seconds: float,
) -> dict[str, Any]:
    """The whole record. `of`: how many sites there are to judge; `errors`: what went wrong in powercut itself."""
    explored = [unedited.explored for unedited in unedited_runs]
    verdicts = {item.verdict for item in explored}
    verdict = next((name for name in ("inconsistent", "unknown") if name in verdicts), "consistent")
    incomplete = [unedited.scenario for unedited in unedited_runs if not unedited.explored.complete]
    return {
        "necessity": NECESSITY_VERSION,
        **header,
        "scenarios": [unedited.scenario for unedited in unedited_runs],
        "unedited": {
            "verdict": verdict,
            "crash_states": str(sum(item.crash_states for item in explored)),
            "executions": sum(item.executions for item in explored),
            "findings": len(frozenset().union(*(item.fingerprints for item in explored))) if explored else 0,
            "incomplete": incomplete,
        },
        "sites": sorted(sites, key=lambda site: (site["site"].rpartition(":")[0], _line(site), site["kind"])),
        "sites_total": of,
        "complete": len(sites) == of and all(site["complete"] for site in sites) and not incomplete and not errors,
        "errors": list(errors),
        "totals": {result: sum(site["result"] == result for site in sites) for result in RESULTS},
        "seconds": round(seconds, 3),
    }


def _line(site: dict[str, Any]) -> int:
    number = site["site"].rpartition(":")[2]
    return int(number) if number.isdecimal() else 0


def write(record: dict[str, Any], out: Path) -> Path:
    """Writes the record into an output folder."""
    path = path_of(out, record["target"], record["variant"])
    write_json(path, record)
    return path


def command_line(
    spelling: str, variant: str, patterns: Sequence[str], options: dict[str, Any], helpers: Sequence[str] = ()
) -> str:
    """The command that repeats an analysis."""
    words = ["powercut", "necessity", f"{spelling}:{variant}"]
    words += [word for pattern in patterns for word in ("--scenario", pattern)]
    words += [word for name in ("model", "nested", "atoms", "seed") for word in (f"--{name}", str(options[name]))]
    words += [word for helper in helpers for word in ("--helper", helper)]
    return shlex.join(words)
