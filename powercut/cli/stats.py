"""Where a run spent its time, as the table of `--stats`."""

from collections.abc import Iterator

from powercut_records.run import RunRecord

TITLES = ("where the time went", "seconds", "share")

#: Names of the engine, in the order of a run.
_PROCESS = {
    "open": "open the trace and the target",
    "walk": "walk: decode, model, candidates",
    "fork": "start workers",
    "wait": "wait for workers",
}
_WORKERS = {"exploring": "workers: recovery and queries"}


def rows(run: RunRecord) -> list[tuple[str, str, str]]:
    """One row a part of the run; workers run at the same time, so that their shares may add up to more than all."""
    parts = list(_parts(run))
    recorded = (run.recorded or {}).get("seconds", 0.0)
    whole = (run.seconds or 0.0) + recorded
    return [(what, f"{seconds:.2f}", f"{seconds / whole:.0%}" if whole else "-") for what, seconds in parts]


def _parts(run: RunRecord) -> Iterator[tuple[str, float]]:
    if run.recorded:
        yield "record", run.recorded.get("seconds", 0.0)
    process = run.stats.get("run", {})
    workers = run.stats.get("workers", {})
    for names, label, spent in ((_PROCESS, "", process), (_WORKERS, "workers: ", workers)):
        for name in [*names, *sorted(spent.keys() - names.keys())]:
            if name in spent:
                yield names.get(name, f"{label}{name}"), spent[name]
    yield "all", (run.seconds or 0.0) + (run.recorded or {}).get("seconds", 0.0)
