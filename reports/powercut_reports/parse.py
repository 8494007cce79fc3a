"""From the dicts that the event stream and the CLI hand over to the model.

Tolerant on purpose: a field that is missing or of another type becomes an empty value, since a report of
an interrupted run, or of a newer engine, must still be readable.
"""

from __future__ import annotations

import shlex

from powercut_reports.drawing import parse_drawing
from powercut_reports.model import (
    VERDICTS,
    Cause,
    Claim,
    Coverage,
    CrashPoint,
    Fault,
    Finding,
    Fix,
    Frame,
    ImageLine,
    Minimal,
    MinimalOperation,
    NestedImage,
    NestedStore,
    NotChecked,
    Operation,
    PerformanceBug,
    Place,
    Pool,
    Program,
    Recheck,
    Run,
    SourceLine,
    Store,
    Suppression,
    TimelineEvent,
    TimelineLine,
)
from powercut_reports.raw import Raw, as_float, as_int, as_text
from powercut_reports.raw import as_dict as _dict
from powercut_reports.raw import as_dicts as _dicts
from powercut_reports.raw import as_list as _list
from powercut_reports.raw import as_texts as _texts


def parse_frames(raw: Raw) -> tuple[Frame, ...]:
    """The symbolised stack of `raw`, innermost first; empty when nobody symbolised it."""
    return tuple(
        Frame(
            as_text(frame.get("function")),
            as_text(frame.get("file")),
            as_int(frame.get("line")) or 0,
            as_int(frame.get("column")) or 0,
            tuple(
                SourceLine(as_int(line.get("line")) or 0, as_text(line.get("text")), line.get("focus") is True)
                for line in _dicts(frame.get("source"))
            ),
        )
        for frame in _dicts(raw.get("frames")) or _dicts(raw.get("stack"))
    )


# The header through which schemes store, flush and fence: the line that people want is its caller's.
_PRIMITIVES = "powercut/pmem.h"


def own_frame(frames: tuple[Frame, ...], site: str = "") -> Frame | None:
    """The frame at `site`, as the caller chose it; else the innermost in the program's own code.

    None when the caller's is one without line numbers.
    """
    located = [frame for frame in frames if frame.file]
    chosen = next((frame for frame in located if frame.site == site), None)
    if site and chosen is None:
        return None
    own = (frame for frame in located if not frame.file.endswith(_PRIMITIVES))
    return chosen or next(own, next(iter(located), None))


def _site(raw: Raw, frames: tuple[Frame, ...]) -> str:
    frame = own_frame(frames)
    return as_text(raw.get("site")) or (frame.site if frame else next((f.function for f in frames if f.function), ""))


def _site_of(raw: Raw) -> str:
    """The site alone. Most events name theirs, and their stacks are most of a record: those are left unread."""
    return as_text(raw.get("site")) or _site(raw, parse_frames(raw))


def _store(raw: Raw) -> Store:
    frames = parse_frames(raw)
    return Store(
        as_int(raw.get("event")) or 0,
        as_int(raw.get("offset")) or 0,
        as_int(raw.get("size")) or 0,
        as_text(raw.get("bytes")),
        as_text(raw.get("fate")) or "unknown",
        raw.get("decisive") is True,
        as_text(raw.get("kind")) or "store",
        frames,
        _site(raw, frames),
    )


def _image(value: object) -> tuple[ImageLine, ...]:
    return tuple(
        ImageLine(
            as_int(raw.get("offset")) or 0,
            as_text(raw.get("bytes")),
            as_text(raw.get("floor")),
            as_text(raw.get("visible")),
            as_text(raw.get("candidates")),
            raw.get("decided") is not False,
        )
        for raw in _dicts(value)
    )


def _nested(raw: Raw) -> NestedImage:
    stores = (
        NestedStore(
            as_int(s.get("offset")) or 0,
            as_int(s.get("size")) or 0,
            _site_of(s),
            as_text(s.get("function")),
        )
        for s in _dicts(raw.get("recovery_stores"))
    )
    return NestedImage(
        as_int(raw.get("depth")) or 0, raw.get("after_return") is True, tuple(stores), _image(raw.get("lines"))
    )


def _timeline(value: object) -> tuple[TimelineLine, ...]:
    return tuple(
        TimelineLine(
            as_int(line.get("offset")) or 0,
            tuple(
                TimelineEvent(
                    as_int(raw.get("event")) or 0,
                    as_text(raw.get("kind")),
                    as_text(raw.get("detail")),
                    as_text(raw.get("state")),
                    _site_of(raw),
                    as_text(raw.get("function")),
                )
                for raw in _dicts(line.get("events"))
            ),
        )
        for line in _dicts(_dict(value).get("lines"))
    )


def _pairs(value: object) -> tuple[tuple[str, str], ...]:
    return tuple((as_text(pair[0]), as_text(pair[1])) for pair in map(_list, _list(value)) if len(pair) == 2)


def _query(raw: Raw) -> str:
    query = raw.get("query")
    if isinstance(query, str):
        return query
    query = _dict(query)
    kind, argument = as_text(query.get("kind")), as_text(query.get("key")) or as_text(query.get("region"))
    return as_text(query.get("text")) or (f"{kind}({argument})" if argument else kind)


def _operation(raw: Raw) -> Operation:
    operation = raw.get("operation")
    if isinstance(operation, str):
        return Operation(None, "", "", operation, True)
    operation = _dict(operation)
    return Operation(
        as_int(operation.get("index")),
        as_text(operation.get("kind")),
        as_text(operation.get("key")),
        as_text(operation.get("text")),
        operation.get("in_flight") is not False,
    )


def _fault(raw: Raw) -> Fault:
    return Fault(as_text(raw.get("signal")), as_text(raw.get("address")), as_text(raw.get("text")), parse_frames(raw))


def _suppression(raw: Raw) -> Suppression:
    return Suppression(
        as_text(raw.get("reason")), as_text(raw.get("expires")), raw.get("expired") is True, as_text(raw.get("rule"))
    )


def _sources(value: object) -> dict[str, dict[int, str]]:
    return {
        as_text(file): {int(line): as_text(text) for line, text in _dict(rows).items() if as_text(line).isdecimal()}
        for file, rows in _dict(value).items()
    }


def _crash(raw: Raw, nested: tuple[NestedImage, ...] = ()) -> CrashPoint:
    return CrashPoint(
        as_int(raw.get("index")),
        as_int(raw.get("event")),
        as_text(raw.get("when")),
        as_int(raw.get("depth")) or 0,
        as_int(raw.get("nested_event")),
        bool(nested) and nested[-1].after_return,
    )


def _settings(value: object) -> tuple[tuple[str, str], ...]:
    return tuple((as_text(name), as_text(setting)) for name, setting in _dict(value).items())


def _operation_text(raw: Raw) -> str:
    kind, key = as_text(raw.get("kind")), as_text(raw.get("key"))
    return as_text(raw.get("text")) or (f"{kind}({key})" if key else kind)


def _minimal(raw: Raw, run: Raw) -> Minimal:
    shown = _dict(raw.get("finding"))
    finding = parse_finding(shown, run) if shown else None
    return Minimal(
        operations=tuple(
            MinimalOperation(as_text(each.get("phase")), each.get("explored") is not False, _operation_text(each))
            for each in _dicts(raw.get("operations"))
        ),
        operations_before=as_int(raw.get("operations_before")),
        config=_settings(raw.get("config")),
        config_before=_settings(raw.get("config_before")),
        crash=_crash(_dict(raw.get("crash_point")), finding.nested_images if finding else ()),
        lost=as_int(raw.get("lost")),
        lost_before=as_int(raw.get("lost_before")),
        considered=as_int(raw.get("considered")),
        seconds=as_float(raw.get("seconds")),
        complete=raw.get("complete") is not False,
        note=as_text(raw.get("note")),
        scenario=as_text(raw.get("scenario")),
        finding=finding,
    )


def _place(raw: Raw) -> Place:
    frames = parse_frames(raw)
    return Place(
        role=as_text(raw.get("role")),
        text=as_text(raw.get("text")),
        event=as_int(raw.get("event")),
        site=as_text(raw.get("site")),
        function=as_text(raw.get("function")),
        source=as_text(raw.get("source")).strip(),
        offset=as_int(raw.get("offset")),
        size=as_int(raw.get("size")),
        frames=frames,
    )


def _recheck(raw: Raw) -> Recheck:
    whole = _dict(raw.get("whole"))
    return Recheck(
        held=raw.get("held") is True,
        verdict=verdict if (verdict := as_text(raw.get("verdict"))) in VERDICTS else "unknown",
        coverage=_coverage(_dict(raw.get("coverage"))),
        crash_states=as_text(raw.get("crash_states")),
        executions=as_int(raw.get("executions")),
        remaining=_texts(raw.get("remaining")),
        note=as_text(raw.get("note")),
        whole=_recheck(whole) if whole else None,
    )


def _cause(raw: Raw) -> Cause:
    first, second, fix, recheck = (_dict(raw.get(name)) for name in ("first", "second", "fix", "recheck"))
    return Cause(
        kind=as_text(raw.get("kind")) or "unexplained",
        first=_place(first) if first else None,
        second=_place(second) if second else None,
        sentence=as_text(raw.get("sentence")),
        explanation=as_text(raw.get("explanation")),
        fix=Fix(as_text(fix.get("kind")), as_text(fix.get("sentence")), as_text(fix.get("site"))) if fix else None,
        recheck=_recheck(recheck) if recheck else None,
        shared_with=as_text(raw.get("shared_with")),
    )


def parse_finding(raw: Raw, run: Raw | None = None) -> Finding:
    """`run` names the target and scenario for a finding that does not carry them itself."""
    owner = run or {}
    crash, fault, contents = _dict(raw.get("crash_point")), _dict(raw.get("fault")), _dict(raw.get("contents"))
    last, bug = _dict(raw.get("last_store")), _dict(raw.get("bug"))
    nested = tuple(_nested(image) for image in _dicts(raw.get("nested_image")))
    return Finding(
        fingerprint=as_text(raw.get("fingerprint")) or as_text(raw.get("key")),
        invariant=as_text(raw.get("invariant")) or "unknown",
        underlying=as_text(raw.get("underlying")),
        message=as_text(raw.get("message")),
        needs_power_cut=raw.get("needs_power_cut") is not False,
        operation=_operation(raw),
        query=_query(raw),
        expected=_texts(raw.get("expected")),
        found=as_text(raw.get("found")),
        crash=_crash(crash, nested),
        fault=_fault(fault) if fault else None,
        image=_image(raw.get("image")),
        nested_images=nested,
        stores=tuple(_store(store) for store in _dicts(raw.get("stores"))),
        timeline=_timeline(raw.get("timeline")),
        contents_expected=_pairs(contents.get("expected")),
        contents_actual=_pairs(contents.get("actual")),
        file=as_text(raw.get("file")),
        store_site=as_text(raw.get("store_site")),
        lost_site=as_text(raw.get("lost_site")),
        reproduce=as_text(raw.get("reproduce")),
        target=as_text(raw.get("target", owner.get("target"))),
        variant=as_text(raw.get("variant", owner.get("variant"))),
        scenario=as_text(raw.get("scenario", owner.get("scenario"))),
        baseline=as_text(raw.get("baseline")),
        suppressed=_suppression(held) if (held := _dict(raw.get("suppressed"))) else None,
        sources=_sources(raw.get("sources")),
        minimal=_minimal(minimal, owner or raw) if (minimal := _dict(raw.get("minimal"))) else None,
        cause=_cause(cause) if (cause := _dict(raw.get("cause"))) else None,
        drawing=parse_drawing(raw.get("drawing")),
        last_site=as_text(last.get("site")),
        last_function=as_text(last.get("function")),
        bug_cause=as_text(bug.get("cause")),
        bug_store=as_text(bug.get("store")),
    )


def _count(value: object) -> int | None:
    return len(value) if isinstance(value, list) else as_int(value)


def _coverage(raw: Raw, run: Raw | None = None) -> Coverage:
    nested = raw.get("nested_complete")
    return Coverage(
        as_text(raw.get("kind")) or "unknown",
        as_text(raw.get("covered")),
        as_text(raw.get("total")),
        nested if isinstance(nested, bool | int) else None,
        as_text(raw.get("reason")),
        _origin(_dict(run.get("since")), _dict(run.get("smoke"))) if run else (),
    )


def _origin(since: Raw, smoke: Raw) -> tuple[str, ...]:
    """That a result is from the cache, and what a budget's first round looked at."""
    notes = []
    if since.get("cached") is True:
        judged = f", judged {as_text(since.get('judged'))}" if since.get("judged") else ""
        notes.append(f"cached: unchanged since {as_text(since.get('revision'))}{judged}")
    if smoke:
        reached = "stopped by the budget" if smoke.get("stopped") is True else "every crash point"
        notes.append(f"first in program order: {reached}")
    return tuple(notes)


def parse_performance_bug(raw: Raw) -> PerformanceBug:
    return PerformanceBug(
        as_text(raw.get("kind")),
        as_int(raw.get("count")) or 0,
        _site_of(raw),
        as_int(raw.get("offset")),
        as_int(raw.get("first_event")),
        as_text(raw.get("message")),
    )


def _error(raw: Raw) -> str:
    what, where, after = (as_text(raw.get(name)) for name in ("what", "where", "next"))
    return f"{where}: {what}. {after}".strip(": ") if what else ""


def _command(value: object) -> str:
    return shlex.join(_texts(value))


def _program(raw: Raw) -> Program:
    ended, output = _dict(raw.get("exit")), _dict(raw.get("output"))
    status, signal = as_int(ended.get("status")), as_int(ended.get("signal"))
    return Program(
        command=_command(raw.get("command")),
        ops=_command(raw.get("ops")),
        recover=_command(raw.get("recover")),
        check=_command(raw.get("check")),
        dump=_command(raw.get("dump")),
        folder=as_text(raw.get("cwd")),
        tracer=as_text(raw.get("tracer")),
        ended=f"signal {signal}" if signal is not None else f"exit status {status}" if status is not None else "",
        pools=tuple(
            Pool(as_text(pool.get("path")), as_int(pool.get("size")), as_int(pool.get("address")) or None)
            for pool in _dicts(raw.get("pools"))
        ),
        stdout=_texts(output.get("stdout")),
        stderr=_texts(output.get("stderr")),
    )


def _claim(raw: Raw) -> Claim:
    holds, measured = raw.get("holds"), raw.get("measured")
    return Claim(
        claim=as_text(raw.get("claim")),
        cites=as_text(raw.get("cites")),
        place=as_text(raw.get("place")),
        holds=holds if isinstance(holds, bool) else None,
        measured=measured if isinstance(measured, int | float) and not isinstance(measured, bool) else None,
        operation=as_text(raw.get("operation")),
        site=as_text(raw.get("site")),
        note=as_text(raw.get("note")),
    )


def parse_run(raw: Raw) -> Run:
    missed, verdict = _dict(raw.get("not_checked")), as_text(raw.get("verdict"))
    flush_sites = missed.get("flush_sites_never_reached")
    return Run(
        target=as_text(raw.get("target")),
        variant=as_text(raw.get("variant")),
        scenario=as_text(raw.get("scenario")),
        model=as_text(raw.get("model")),
        strategy=as_text(raw.get("strategy")),
        seed=as_text(raw.get("seed")),
        nested=as_int(raw.get("nested")),
        events=as_int(raw.get("events")),
        crash_points=as_int(raw.get("crash_points")),
        crash_states=as_text(raw.get("crash_states")),
        executions=as_int(raw.get("executions")),
        leaves=as_int(raw.get("leaves")),
        # What is not a verdict we know is never shown as a clean one.
        verdict=verdict if verdict in VERDICTS else "unknown",
        coverage=_coverage(_dict(raw.get("coverage")), raw),
        assumptions=_texts(raw.get("assumptions")),
        not_checked=NotChecked(
            _count(missed.get("lines_never_read")),
            _count(flush_sites),
            _texts(flush_sites),
            _texts(missed.get("uninstrumented_calls")),
            as_text(missed.get("atoms")),
            _texts(missed.get("notes")),
        ),
        seconds=as_float(raw.get("seconds")),
        findings=tuple(parse_finding(finding, raw) for finding in _dicts(raw.get("findings"))),
        performance_bugs=tuple(parse_performance_bug(row) for row in _dicts(raw.get("performance_bugs"))),
        claims=tuple(_claim(claim) for claim in _dicts(raw.get("claims"))),
        summary=as_text(raw.get("summary")),
        error=_error(_dict(raw.get("error"))),
        program=_program(program) if (program := _dict(raw.get("program"))) else None,
    )
