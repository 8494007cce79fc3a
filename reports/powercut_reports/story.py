"""A finding in words: what was asked, when the power went, what had persisted and what was lost.

The text and the HTML report share these sentences, so that one finding reads the same everywhere.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from string import ascii_uppercase

from powercut_records.base import changed
from powercut_records.finding import (
    VERDICTS,
    Cause,
    Coverage,
    CrashPoint,
    Fault,
    FindingRecord,
    OutputDifference,
    Schedules,
    Store,
    Turn,
)
from powercut_records.places import own_frame
from powercut_records.program import Pool, Program
from powercut_records.run import Claim, NotChecked, RunRecord, StoreFunction
from powercut_reports import format as fmt
from powercut_reports.medium import LINE, MEMORY, Medium, medium_of

#: Fate of an operation on flash that has begun and has not ended.
INTERRUPTED = "interrupted"
#: Events of one operation on flash between two of its stores: loads of its words.
_MOST_BETWEEN = 2
#: A finding is about the lost stores, so they come first.
_FATES = ("lost", "torn", INTERRUPTED, "persisted")
_FATES_OF_CALLS = {"persisted": "on disk", "torn": "partly"}
_SITES_IN_SENTENCE = 2
_FUNCTIONS_IN_SENTENCE = 10


@dataclass(frozen=True)
class Involved:
    """The stores of one source line that shared one fate."""

    label: str  # A, B, … for decisive stores, else empty
    stores: tuple[Store, ...]
    medium: Medium = MEMORY

    @property
    def first(self) -> Store:
        return self.stores[0]

    @property
    def fate(self) -> str:
        return self.first.fate

    @property
    def site(self) -> str:
        return self.first.place

    @property
    def what(self) -> str:
        """The source line, or the bytes when the source is not at hand; of a folder the calls."""
        if self.calls:
            return self.calls
        frame = own_frame(self.first.stack, self.site)
        focus = next((line.text.strip() for line in frame.source if line.focus), "") if frame else ""
        return focus or self.extent

    @property
    def fate_words(self) -> str:
        """ "persisted", "lost", "torn"; of calls "on disk", "lost", "partly" """
        return _FATES_OF_CALLS.get(self.fate, self.fate) if self.calls else self.fate

    @property
    def calls(self) -> str:
        """The calls of a folder, as strace prints them; empty for stores."""
        return "; ".join(dict.fromkeys(store.text for store in self.stores if store.text))

    @property
    def noun(self) -> str:
        """Names the changes: "store", "write", "program", "erase"."""
        return self.medium.change(self.first.stack)

    @property
    def extent(self) -> str:
        if self.calls:
            return self.calls
        if self.medium.operations:
            places = [self.medium.changed(store.offset, store.size, store.stack) for store in self.stores]
            return "; ".join(dict.fromkeys(places))
        size = sum(store.size for store in self.stores)
        begin = min(s.offset for s in self.stores)
        if self.medium.device:  # a write of several units is several stores
            return self.medium.extent(begin, max(s.offset + s.size for s in self.stores) - begin, sectors=size)
        many = f" in {len(self.stores)} stores" if len(self.stores) > 1 else ""
        return f"{self.medium.extent(begin, size)}{many}"


def _labels() -> Iterator[str]:
    """A … Z, AA, AB, …"""
    for prefix in ("", *ascii_uppercase):
        yield from (prefix + letter for letter in ascii_uppercase)


def involved(finding: FindingRecord) -> tuple[Involved, ...]:
    """Stores grouped by source line and fate: decisive ones first, those lost before those that persisted.

    Where the cause is known, A and B are its stores: B what must be durable before A.
    """

    medium = medium_of(finding)

    def rank(store: Store) -> tuple[bool, int, bool, str]:
        fate = _FATES.index(store.fate) if store.fate in _FATES else len(_FATES)
        named = store.place in (finding.store_site, finding.lost_site)
        return (not store.decisive, fate, not named, store.place)

    ranked = groupby(sorted(operations(finding), key=lambda s: (*rank(s), s.event)), key=rank)
    groups = [(not key[0], tuple(members)) for key, members in ranked]
    labels = _labels()
    if not finding.cause or not (finding.cause.first or finding.cause.second):
        return tuple(Involved(next(labels, "") if decisive else "", stores, medium) for decisive, stores in groups)
    named = _named_by(finding.cause, [stores for decisive, stores in groups if decisive])
    taken = "".join(letter for letter, place in (("A", finding.cause.second), ("B", finding.cause.first)) if place)
    letters = (letter for letter in labels if letter not in taken)
    labelled = [
        Involved(named.get(index) or next(letters, "") if decisive else "", stores, medium)
        for index, (decisive, stores) in enumerate(groups)
    ]
    return tuple(sorted(labelled, key=lambda group: (not group.label, len(group.label), group.label)))


def operations(finding: FindingRecord) -> list[Store]:
    """The stores of a finding; of flash those of one operation, a program or an erase, are one.

    An operation of which only the first stores are there was interrupted: what it leaves cannot be read.
    """
    if not medium_of(finding).operations:
        return list(finding.stores)
    made: list[list[Store]] = []
    for store in sorted(finding.stores, key=lambda store: store.event):
        last = made[-1][-1] if made else None
        if (
            last
            and (last.place, last.offset // LINE) == (store.place, store.offset // LINE)
            and not _begins(last, store)
        ):
            made[-1].append(store)
        else:
            made.append([store])
    return [_operation(stores) for stores in made]


def _begins(last: Store, store: Store) -> bool:
    """Whether an operation was forced between the two, so that the second one is of another."""
    return store.event - last.event > _MOST_BETWEEN


def _operation(stores: list[Store]) -> Store:
    fates = {store.fate for store in stores}
    fate = stores[0].fate if len(fates) == 1 else INTERRUPTED
    return changed(stores[0], fate=fate, decisive=any(store.decisive for store in stores))


def _named_by(cause: Cause, groups: Sequence[tuple[Store, ...]]) -> dict[int, str]:
    """Which groups are A and B of the cause; decisive groups come first, so an index is one of all groups.

    A store that had not been made yet is none of them, though the same line has made another one.
    """
    named: dict[int, str] = {}
    for letter, place, fates in (
        ("B", cause.first, ("lost", "torn", INTERRUPTED)),
        ("A", cause.second, ("persisted", INTERRUPTED)),
    ):
        if place is None or place.role == "next-store":
            continue
        fits = [i for i, stores in enumerate(groups) if place.site and stores[0].place == place.site]
        best = [i for i in fits if groups[i][0].fate in fates] or fits
        if left := [i for i in best if i not in named]:
            named[left[0]] = letter
    return named


def joined(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _sites(groups: list[Involved]) -> str:
    """ "the store at update.cc:81", "the stores at update.cc:81, move.cc:9 and 3 more places" """
    sites = list(dict.fromkeys(g.site or g.medium.place(g.first.offset) for g in groups))
    shown = sites[:_SITES_IN_SENTENCE]
    if len(sites) > len(shown):
        shown.append(fmt.plural(len(sites) - len(shown), "more place"))
    store = groups[0].medium.words.store
    noun = store if sum(len(g.stores) for g in groups) == 1 else f"{store}s"
    return f"the {noun} at {joined(shown)}"


def cut_sentence(crash: CrashPoint) -> str:
    """When the power was cut, e.g. "before sfence, at event 1,234 (crash point 41)"."""
    parts = [crash.when or "at an unnamed instant"]
    if crash.event is not None and " call " not in crash.when:  # of a folder, calls are the events
        parts.append(f"at event {fmt.grouped(crash.event)}")
    point = f" (crash point {fmt.grouped(crash.index)})" if crash.index is not None else ""
    return ", ".join(parts) + point


def without_cut(finding: FindingRecord) -> str:
    """Says that a finding takes no power cut, and where it shows; empty for a finding that does."""
    if finding.needs_power_cut:
        return ""
    where = f"after {finding.operation}" if str(finding.operation) else cut_sentence(finding.crash_point)
    every = f", with every {medium_of(finding).words.store} durable"
    return f"none needed: {where}" + ("" if finding.by_schedule else every)


def nested_sentence(finding: FindingRecord) -> str:
    """When it was cut again inside recovery; empty when it was not."""
    crash = finding.crash_point
    if crash.depth < 1:
        return ""
    if finding.after_return:
        return "then again right after recovery"
    store = medium_of(finding).words.store
    if finding.files and finding.files.inner and finding.files.inner.life > 1:
        return "then again in the second life"
    stores = f", after {fmt.plural(crash.nested_event, store)} of it" if crash.nested_event is not None else ""
    return f"then again inside recovery{stores}"


def fault_address(fault: Fault) -> str:
    """Only a signal has an address of its own; an abort has none."""
    return f" at address {fault.address}" if fault.signal not in ("", "SIGABRT") and fault.address else ""


def answer_sentence(finding: FindingRecord) -> str:
    """Says what recovery or the query did wrong."""
    asked = str(finding.query)
    if finding.fault:
        doing = asked if asked and asked != "recovery" else "recovery"
        did = finding.found or f"ended with {finding.fault.signal or 'a fault'}"
        said = f" ({finding.fault.text})" if finding.fault.text else ""
        return f"{doing} then {did}{fault_address(finding.fault)}{said}"
    if not asked:
        return "recovery then left a state that is not legal"
    if finding.difference:
        return f"{asked} then printed something else than any legal state: {difference_words(finding.difference)}"
    found = f"answered {finding.found}" if finding.found else "gave no legal answer"
    if finding.found.startswith("exit status"):
        found = f"ended with {finding.found}"
    legal = f", where only {' or '.join(finding.expected)} was legal" if finding.expected else ""
    return f"{asked} then {found}{legal}"


def difference_words(difference: OutputDifference) -> str:
    """ "1 line is missing and 2 are too many" """
    marks = [line.mark for line in difference.lines]
    missing, extra = marks.count("-"), marks.count("+")
    parts = [f"{fmt.plural(missing, 'line')} {'is' if missing == 1 else 'are'} missing"] if missing else []
    if extra:
        noun = "" if missing else " line" if extra == 1 else " lines"
        parts.append(f"{fmt.grouped(extra)}{noun} {'is' if extra == 1 else 'are'} too many")
    return " and ".join(parts) + (", and more differ" if difference.changed_left_out else "")


#: Text for a finding without a cause.
SEARCH = "Nobody has looked for the cause yet: {command} does, and tries a fix."


def cause_search(finding: FindingRecord) -> str:
    """For a finding without a cause: that nobody has looked for it, and the command that does. Else empty."""
    if finding.cause is not None:
        return ""
    return SEARCH.format(command=f"'{explain_command(finding)}'")


def explain_command(finding: FindingRecord) -> str:
    """The command that looks for the cause of a finding."""
    return f"powercut explain {shlex.quote(finding.file) if finding.file else 'FINDING.json'}"


def cause_source(finding: FindingRecord) -> str:
    """In which other execution than the finding's the places of its cause were seen; empty: in the finding's own."""
    if finding.cause is None or not (finding.cause.first or finding.cause.second):
        return ""
    if finding.cause.shared_with:
        return f"finding {finding.cause.shared_with}"
    return "the smallest case" if finding.minimal is not None and finding.minimal.finding is not None else ""


def story(finding: FindingRecord) -> str:
    """The finding in one sentence."""
    if not finding.needs_power_cut:
        after = f"After {finding.operation}" if str(finding.operation) else "In this run"
        store = medium_of(finding).words.store
        return f"{after}, with every {store} durable and no power cut, {answer_sentence(finding)}."
    when = "During" if finding.operation.in_flight else "After"
    during = f"{when} {finding.operation}" if str(finding.operation) else "During this run"
    cut = f"{during} the power was cut {cut_sentence(finding.crash_point)}"
    nested = nested_sentence(finding)
    groups = [group for group in involved(finding) if group.label] or list(involved(finding))
    fates = []
    if finding.files:
        told = finding.files.sentence.removesuffix(".")
        groups, fates = [], [f"t{told[1:]}" if told.startswith("The ") else told]
    for fate, words in (
        ("persisted", "had persisted"),
        ("torn", "had persisted in part"),
        (INTERRUPTED, "interrupted"),
        ("lost", "lost"),
    ):
        members = [group for group in groups if group.fate == fate]
        if not members:
            continue
        count = sum(len(g.stores) for g in members)
        verb = ("was " if count == 1 else "were ") + words if fate in ("lost", INTERRUPTED) else words
        fates.append(f"{_sites(members)} {verb}")
    why = _why(finding.cause, medium_of(finding).words.store) if finding.cause else ""
    clauses = [
        f"{cut}, {nested}" if nested else cut,
        *filter(None, fates),
        answer_sentence(finding),
        *([why] if why else []),
    ]
    return "; ".join(clauses) + "."


def _why(cause: Cause, store: str) -> str:
    """Why it could happen, with places instead of letters; empty where nobody knows."""
    if cause.kind != "order" or cause.first is None:
        return ""
    first = f"the {store} at {cause.first.site}" if cause.first.site else cause.first.text
    if cause.second is None:
        return f"nothing makes {first} durable"
    if cause.second.role == "acknowledgement":
        return f"nothing makes {first} durable before {cause.second.text}"
    second = cause.second.site or cause.second.text
    return f"nothing makes {first} durable before that at {second}"


def headline(finding: FindingRecord) -> str:
    return finding.message or f"{finding.invariant} is violated."


def anchor(finding: FindingRecord) -> str:
    """The name of a finding in an HTML report, which stays when others come and go; "" without a fingerprint."""
    return f"finding-{finding.fingerprint}" if finding.fingerprint else ""


def summary_site(finding: FindingRecord) -> str:
    """The source line that names the finding in one-line summaries: of the store that was lost, where one was.

    Where no store is to blame, the place is where recovery died. Else it is the last store of the operation, else the
    newest store that recovery has read.
    """
    if finding.lost_site or finding.store_site:
        return finding.lost_site or finding.store_site
    decisive = next((group.site for group in involved(finding) if group.label and group.site), "")
    frame = own_frame(finding.fault.stack, finding.fault.site) if finding.fault else None
    newest = max(finding.stores, key=lambda store: store.event, default=None)
    before = finding.last_store
    last = (before.site or before.function if before else "") or (newest.place if newest else "")
    return decisive or (frame.site if frame else "") or last


def standing(finding: FindingRecord) -> str:
    """How a project's baseline and suppressions see the finding, such as "known"; empty without either."""
    held = finding.suppressed
    words = [finding.baseline] if finding.baseline else []
    if held:
        until = "suppression expired on" if held.expired else "suppressed until"
        words.append(f"{until} {held.expires}: {held.reason}")
    return ", ".join(words)


def is_of_one_schedule(coverage: Coverage) -> bool:
    """For a program with threads: another order of the threads was not looked at."""
    schedules = coverage.schedules
    return schedules is not None and schedules.search == "recorded" and not schedules.operations


def coverage_words(coverage: Coverage) -> str:
    """ "complete", "sampled 12.3 %" or "complete for 7 of 9 operations"; nobody knows how many schedules there are."""
    schedules = coverage.schedules
    known = schedules is None or schedules.complete or is_of_one_schedule(coverage)
    operations = coverage.operations
    if coverage.kind == "sampled" and operations and operations.complete:
        return f"complete for {fmt.grouped(operations.complete)} of {fmt.plural(operations.all, 'operation')}"
    if coverage.kind == "sampled" and coverage.total and known:
        return f"sampled {fmt.percent(coverage.covered, coverage.total)}"
    return (
        "complete for one schedule" if coverage.kind == "complete" and is_of_one_schedule(coverage) else coverage.kind
    )


def coverage_sentence(run: RunRecord) -> str:
    """The coverage exactly, to which depth of nested crashes it holds, and where the result comes from."""
    coverage = run.coverage
    total = fmt.count_in_a_sentence(coverage.total)
    of = f" of {schedules_words(coverage.schedules)}" if coverage.schedules else ""
    if coverage.kind == "complete":
        words = f"complete: all {total} crash states{of}" if coverage.total else f"complete{of}"
    elif coverage.kind == "sampled":
        covered = fmt.count_in_a_sentence(coverage.covered)
        among = total if coverage.total else "an unknown number of"
        words = f"{coverage_words(coverage)}: {covered} of {among} crash states{of}"
    else:
        words = "unknown: the run did not say what it covered"
    nested = coverage.nested_complete
    if isinstance(nested, bool):
        words += "; cuts inside recovery " + ("complete" if nested else "not complete")
    elif nested is not None:
        words += f"; cuts inside recovery complete to depth {nested}" if nested else "; no cuts inside recovery"
    if coverage.lives:
        words += f"; two lives, {fmt.plural(coverage.lives.begun, 'second life', 'second lives')} begun"
        words += f" and {fmt.grouped(coverage.lives.new)} of them new"
    words += f" ({coverage.reason})" if coverage.reason else ""
    if coverage.acknowledged is False:
        words += f"; {UNJUDGED} ({_what_it_takes(run)})"
    return "; ".join((words, *run.origin))


#: The gap in a verdict by exit statuses alone, beside the verdict itself.
UNJUDGED = "acknowledged data was not judged"


def _what_it_takes(run: RunRecord) -> str:
    dump = bool(run.commands.dump)
    if dump and run.commands.ack:
        return "no crash point lies behind an acknowledgement"
    return "that takes --ack or marks" if dump else "that takes --dump, and --ack or marks"


def turn_words(turn: Turn) -> str:
    """ "thread 1 in update(1) up to src/map.cc:17" """
    where = f"thread {turn.thread}"
    if turn.operations:
        where += f" in {', '.join(turn.operations)}"
    if not turn.in_operation:
        return f"{where} to its end"
    return f"{where} up to {turn.site}" if turn.site else f"{where}, left in the middle"


def schedules_words(schedules: Schedules) -> str:
    """ "all schedules of 2 threads × 2 operations", "… of 36 clients of 2 threads …", "1,000 random schedules of …"."""
    size = fmt.plural(schedules.threads, "thread")
    if schedules.operations:
        size += f" × {fmt.plural(schedules.operations, 'operation')}"
    if schedules.clients > 1:
        size = f"{fmt.plural(schedules.clients, 'client')} of {size}"
    if schedules.search == "recorded":
        return f"the recorded schedule of {size}"
    if not schedules.complete:
        kind = schedules.search if schedules.search in ("random", "pct") else ""
        word = f"{kind} schedule".lstrip()
        return f"{fmt.plural(schedules.schedules, word)} of {size}" + ("" if kind else ", not all")
    if schedules.visibility == "tso":
        size += " and their store buffers"
    if schedules.preemptions is None:
        return f"all schedules of {size}"
    return f"all schedules of {size} with at most {fmt.plural(schedules.preemptions, 'preemption')}"


def verdict_words(run: RunRecord) -> str:
    """ "consistent"; of a folder with its file systems: "inconsistent (ext4), consistent (xfs, btrfs)" """
    names: dict[str, list[str]] = {}
    for row in run.profiles:
        names.setdefault(row.verdict, []).append(row.profile)
    told = [f"{verdict} ({', '.join(names[verdict])})" for verdict in VERDICTS if verdict in names]
    return ", ".join(told) or run.verdict


def verdict_sentence(run: RunRecord) -> str:
    """Says what the verdict does and does not claim."""
    if run.verdict == "unknown":
        return "No verdict: the run could not decide. This is neither clean nor a finding."
    alone = run.coverage.acknowledged is False
    if run.verdict == "inconsistent":
        words = _found(run)
    elif run.coverage.kind == "complete":
        words = f"No legal crash state of this run {'makes recovery fail' if alone else 'loses or corrupts data'}."
    else:
        words = "No finding in the crash states that were tried; others were not tried."
    return f"{words} {UNJUDGED.capitalize()}." if alone else words


def _found(run: RunRecord) -> str:
    """Sums up the findings of a run, those that need no power cut first."""
    by_cut = [finding for finding in run.findings if finding.needs_power_cut]
    said = []
    if len(by_cut) < len(run.findings):
        said.append("An answer is wrong without any power cut.")
    if run.functional:
        said.append("The run ended there: mend that first, or go on with --keep-going.")
    if by_cut or not run.findings:
        said.append(f"{fmt.plural(len(by_cut), 'way')} found in which a power cut loses or corrupts data.")
    return " ".join(said)


def _size(pool: Pool) -> str:
    size = fmt.plural(pool.size or 0, "byte")
    if pool.device is None:
        return size
    unit = f", {pool.device.unit} written as one" if pool.device.unit > 1 else ""
    return f"{size} in sectors of {fmt.grouped(pool.device.sector_size)} bytes{unit}"


def program_rows(program: Program) -> tuple[tuple[str, str], ...]:
    """How a program was recorded and judged: a word and what it says, each row that has something to say."""
    pools = "; ".join(pool.path + (f" ({_size(pool)})" if pool.size is not None else "") for pool in program.pools)
    recorded = f"{program.shown('command')} (with {program.tracer}, {program.ended})" if program.command else ""
    rows = (
        ("Recorded", recorded),
        ("Driver", program.shown("ops")),
        ("Acknowledged by", program.ack),
        ("Recovery", program.shown("recover")),
        ("Checker", program.shown("check")),
        ("Dump", program.shown("dump")),
        ("Probes", program.shown_probes),
        ("Second life", program.shown("continuation")),
        ("Device" if program.device else "Pools", pools),
        ("Files below", program.folder),
        ("Began as", program.began),
        ("Folder", program.cwd),
    )
    return tuple(row for row in rows if row[1])


_ATOMS = {
    "any": "wide stores and mem* calls split into 8-byte atoms that persist in any order",
    "ascending": "assumes ascending: the atoms of a wide store persist in address order",
    "byte": "mem* calls split into single bytes that persist in any order",
}


def not_checked(missed: NotChecked, medium: Medium = MEMORY) -> tuple[str, ...]:
    """One sentence for each thing that the verdict says nothing about."""
    rows = []
    if missed.lines_never_read:
        line = medium.words.line if medium.device else "persistent line"
        rows.append(f"{fmt.plural(missed.lines_never_read, line)} never read by recovery or a query")
    if missed.stores_never_reached:
        rows.append(unreached_sentence(missed.stores_never_reached))
    if missed.uninstrumented_calls:
        count = fmt.plural(len(missed.uninstrumented_calls), "uninstrumented function")
        rows.append(f"{count} called: {', '.join(missed.uninstrumented_calls)}")
    if missed.atoms:
        rows.append(f"atom policy {missed.atoms}" + (f": {_ATOMS[missed.atoms]}" if missed.atoms in _ATOMS else ""))
    return (*rows, *missed.notes)


def unreached_sentence(functions: Sequence[StoreFunction]) -> str:
    """ "the stores of 2 functions, which no operation and no recovery reached: erase (t.cc:12), grow (t.cc:40)" """
    shown = [function.place for function in functions[:_FUNCTIONS_IN_SENTENCE]]
    if len(functions) > len(shown):
        shown.append(f"and {fmt.grouped(len(functions) - len(shown))} more")
    return (
        f"the stores of {fmt.plural(len(functions), 'function')}, which no operation and no recovery reached: "
        f"{', '.join(shown)}"
    )


def unreached_by_all(runs: Sequence[RunRecord]) -> list[StoreFunction]:
    """The functions whose stores none of several runs of one target reached; empty where one of the runs cannot say."""
    lists = [run.not_checked.stores_never_reached for run in runs]
    known = [functions for functions in lists if functions is not None]
    if not known or len(known) < len(lists):
        return []
    others = [{function.place for function in functions} for functions in known[1:]]
    return [function for function in known[0] if all(function.place in each for each in others)]


def claim_sentence(claim: Claim) -> str:
    """ "insert.fences <= 2 (OSDI'18, section 3.3): measured 3 in insert(17) at targets/level/insert.cc:88" """
    words = f"{claim.claim} ({claim.cites})" if claim.cites else claim.claim
    if claim.measured is not None:
        words += f": measured {claim.measured:.10g}"
    words += f" in {claim.operation}" if claim.operation else ""
    words += f" at {claim.site}" if claim.site else ""
    return words + (f"; {claim.note}" if claim.note else "")
