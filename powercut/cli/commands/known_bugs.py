"""`powercut known-bugs`: run the bug corpus."""

from typing import Annotated, Any

import typer

from powercut.base import paths
from powercut.cli import output, progress, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import Only, argument, grouped, option
from powercut.corpus import known_bugs as corpus
from powercut.runs.runner import open_context


@grouped
def known_bugs(
    scheme: Annotated[str | None, argument("SCHEME", "Only the bugs of this scheme.")] = None,
    json: shared.Json = False,
    *,
    exploring: Annotated[shared.Exploring, Only("model", "strategy", "nested", "budget", "seed")],
    jobs: shared.Jobs = None,
    out: shared.Out = shared.DEFAULT_OUT / "known-bugs",
    explain: Annotated[
        bool, option("--explain", "Minimise each bug, and hold its root cause against the one expected.")
    ] = False,
) -> None:
    """Run the bug corpus: every known bug and its fixed twin.

    Each bug must be found, with the line of source that it names; its fixed twin and the known-good patterns must
    be clean.

    Exit code: 0 all as expected, 1 a bug was missed or something clean was accused, 3 incomplete.
    """
    cases = corpus.cases(scheme, options=exploring.options())
    with progress.shown() as listener, open_context(paths.engine(), out, listener=listener) as context:
        verdict = corpus.run(cases, context, jobs=jobs or shared.default_jobs(), explain=explain)
    for error in verdict.outcome.errors:
        talk.say_error(error)
    if json:
        output.print_json(verdict.as_json())
    else:
        _print(verdict)
    if verdict.outcome.interrupted:
        talk.say("Interrupted: this is no verdict on the bug corpus.")
    raise typer.Exit(verdict.exit_code())


def _print(verdict: corpus.Verdict) -> None:
    rows = []
    for bug in verdict.bugs:
        found = ", ".join(bug["invariants"]) or "nothing"
        rows.append(
            (
                bug["id"],
                " or ".join(bug["expected"]),
                f"MISSED ({found})" if not bug["found"] else found if bug["site_shown"] else f"{found}, ELSEWHERE",
                "clean" if bug["twin_clean"] else "NOT CLEAN",
            )
        )
    for item in verdict.known_good:
        accused = ", ".join(item["findings"]) or "not complete"
        rows.append((f"known good: {item['scenario']}", "clean", "clean" if item["clean"] else accused, "-"))
    output.print_table(("bug", "expected", "found", "fixed twin"), rows)
    explained = [(bug["id"], item) for bug in verdict.bugs for item in bug.get("explained", ())]
    if explained:
        output.print_table(("bug", "operations", "cause", "B, missing", "A, too early", "fix"), _causes(explained))


def _causes(explained: list[tuple[str, dict[str, Any]]]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, item in explained:
        cause = item["cause"] or "-"
        rows.append(
            (
                name,
                str(item["operations"] or "-"),
                cause if item["cause_shown"] is not False else f"{cause}, NOT AS EXPECTED",
                item["first"] or "-",
                item["second"] or "-",
                {None: "-", True: "held", False: "NOT HELD"}[item["fix_held"]],
            )
        )
    return rows
