"""Root causes in a user's own program: its recovery judges the images, and the fix is tried on its trace."""

import json
from pathlib import Path
from typing import Any

import pytest

from powercut import minimise
from powercut.base import paths
from powercut.cause import explain
from powercut.engine import engine
from powercut.runs import runner
from reports.tests.typed import finding_of
from tests.program.program_mode import SOURCE, Kv

BUILDS = ("./kv", "./kv-plain")
#: The search for a cause asks the same of both builds, so most causes are looked for in one of them.
ONE_BUILD = ("./kv", pytest.param("./kv-plain", marks=pytest.mark.long))


def explained(kv: Kv, program: str = "./kv") -> dict[str, Any]:
    """The record of the first finding, with its cause."""
    answer = kv.judge(program, "--dump", f"{program} dump pool")
    assert answer.code == 1
    (finding, *_) = answer.run["findings"]
    record = json.loads(Path(finding["file"]).read_text())
    assert record["cause"]["sentence"] == finding["cause"]["sentence"]
    assert record["minimal"] is None
    assert isinstance(record, dict)
    return record


def line_of(place: dict[str, Any]) -> str:
    file, _, number = place["site"].rpartition(":")
    assert file.endswith("programs/kv.c")
    return SOURCE.read_text().splitlines()[int(number) - 1].strip()


@pytest.mark.parametrize("program", BUILDS)
def test_a_missing_flush_is_named_and_mended(kv: Kv, program: str) -> None:
    kv.bug("order")
    cause = explained(kv, program)["cause"]
    assert (cause["kind"], cause["fix"]["kind"]) == ("order", "flush-and-fence")
    assert line_of(cause["first"]).startswith("entry->")
    assert "publishes the entry" in line_of(cause["second"])
    assert (cause["recheck"]["held"], cause["recheck"]["coverage"]["kind"]) == (True, "complete")
    assert cause["recheck"]["executions"] > 1


@pytest.mark.parametrize("program", ONE_BUILD)
def test_what_was_acknowledged_too_early_is_named_and_mended(kv: Kv, program: str) -> None:
    kv.bug("unflushed")
    cause = explained(kv, program)["cause"]
    assert (cause["kind"], cause["fix"]["kind"]) == ("order", "flush-and-fence")
    assert "publishes the entry" in line_of(cause["first"])
    assert (cause["second"]["role"], cause["second"]["text"][:7]) == ("acknowledgement", "insert(")
    assert cause["recheck"]["held"]


@pytest.mark.parametrize("program", ONE_BUILD)
def test_what_is_stored_too_early_is_stored_later(kv: Kv, program: str) -> None:
    kv.bug("early")
    cause = explained(kv, program)["cause"]
    assert (cause["kind"], cause["fix"]["kind"]) == ("order", "reorder")
    assert line_of(cause["first"]).startswith("entry->")
    assert "publishes the entry" in line_of(cause["second"])
    assert cause["recheck"]["held"]


@pytest.mark.parametrize("program", ONE_BUILD)
def test_two_stores_that_no_flush_makes_one_get_no_fix(kv: Kv, program: str) -> None:
    kv.bug("mirror")
    cause = explained(kv, program)["cause"]
    assert (cause["kind"], cause["fix"]) == ("atomicity", None)
    assert {"publishes" in line_of(cause[name]) for name in ("first", "second")} == {True, False}
    assert {"keeps it twice" in line_of(cause[name]) for name in ("first", "second")} == {True, False}


def test_a_finding_on_disk_is_explained_later(kv: Kv) -> None:
    kv.bug("order")
    (finding,) = kv.judge("./kv", "--explain", "0").run["findings"]
    file = Path(finding["file"])
    assert "cause" not in json.loads(file.read_text()) or json.loads(file.read_text())["cause"] is None
    answer = kv.cli("explain", str(file))
    assert answer.code == 0
    assert "Missing order: B before A. Flush the line of B and fence before A." in answer.out
    assert json.loads(file.read_text())["cause"]["recheck"]["held"]


def test_a_finding_whose_trace_is_gone_is_refused(kv: Kv) -> None:
    kv.bug("order")
    (finding,) = kv.judge("./kv", "--explain", "0").run["findings"]
    Path(json.loads(Path(finding["file"]).read_text())["trace"]).unlink()
    assert "its trace is gone" in kv.refused("explain", finding["file"])


@pytest.mark.long
def test_a_recovery_that_hangs_is_explained_or_says_why_not(kv: Kv) -> None:
    """Each image of it costs the whole time limit."""
    kv.bug("order")
    hangs = "sh -c './kv check pool || sleep 60'"
    answer = kv.cli(
        "run", "--record", "./kv run pool", "--recover", hangs, "--pool", "pool",
        "--timeout", "300ms", "--format", "text", "--json",
    )  # fmt: skip
    (finding,) = answer.run["findings"]
    assert finding["invariant"] == "recovery-hang"
    assert (finding["cause"]["kind"], finding["cause"]["held"]) == ("order", True)


def test_a_search_that_takes_too_long_says_so(kv: Kv) -> None:
    kv.bug("order")
    (finding,) = kv.judge("./kv", "--explain", "0").run["findings"]
    record = json.loads(Path(finding["file"]).read_text())
    with runner.open_context(paths.engine(), kv.folder / "out") as context:
        answer = explain.explained(finding_of(record), context=context, limits=minimise.Limits(seconds=0.001))
    assert answer.cause["kind"] == "unexplained"
    assert "judging took longer than it may" in answer.cause["explanation"]


def test_a_search_that_is_interrupted_ends_at_once(kv: Kv) -> None:
    kv.bug("order")
    (finding,) = kv.judge("./kv", "--explain", "0").run["findings"]
    record = json.loads(Path(finding["file"]).read_text())
    with runner.open_context(paths.engine(), kv.folder / "out") as context:
        context.interrupt.request()
        with pytest.raises(engine.Interrupted):
            explain.explained(finding_of(record), context=context)
