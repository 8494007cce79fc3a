"""The language of claims, the tables that hold them, and how they are judged; without an engine."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.claims import sheet
from powercut.claims.expression import (
    COMPARISONS,
    COUNTS,
    ITEMS,
    OPERATIONS,
    STATES,
    ClaimError,
    Expression,
    Quantity,
    parse,
)
from powercut.claims.judge import NO_OPERATION, check, operation_words
from powercut.engine.options import parse_fail_on
from powercut.runs import runner
from powercut.scenarios import scenario
from powercut.symbols.symbolize import Symbolizer
from reports.tests.typed import run_of
from tests.conftest import House

DEFINED = ("log_writes", "commit_store", "items_moved")
COMMANDS = ("expand", "shrink")

_counted = st.builds(
    Quantity, name=st.sampled_from([*COUNTS, *DEFINED]), operation=st.sampled_from([*OPERATIONS, *COMMANDS])
)
_anywhere = st.builds(Quantity, name=st.sampled_from(DEFINED), widest=st.booleans())
_number = st.one_of(st.integers(0, 10**6), st.integers(0, 10**6).map(lambda n: n / 10**4)).map(float)
_sign = st.sampled_from(list(COMPARISONS))


@st.composite
def _expressions(draw: st.DrawFn) -> Expression:
    kind = draw(st.sampled_from(["state", "each", "ratio", "mean", "means"]))
    first = draw(st.one_of(_counted, _anywhere))
    rest: dict[str, Any] = {"comparison": draw(_sign), "number": draw(_number)}
    match kind:
        case "state":
            return Expression(quantity=Quantity(name=draw(st.sampled_from(list(STATES))), state=True), **rest)
        case "ratio":
            per = draw(st.sampled_from([Quantity(name=ITEMS), Quantity(name="log_writes", operation=first.operation)]))
            return Expression(quantity=first, per=per, **rest)
        case "means":
            return Expression(quantity=first, per=draw(_counted), mean=True, **rest)
        case _:
            return Expression(quantity=first, mean=kind == "mean", **rest)


@given(_expressions())
def test_what_is_written_is_what_is_read(expression: Expression) -> None:
    assert parse(str(expression), defined=DEFINED, commands=COMMANDS) == expression


@given(_expressions(), st.data())
def test_blanks_mean_nothing(expression: Expression, data: st.DataObject) -> None:
    words = str(expression).split(" ")
    text = "".join(word + data.draw(st.sampled_from([" ", "   ", "\t"])) for word in words)
    assert parse(text, defined=DEFINED, commands=COMMANDS) == expression


@given(st.text(max_size=40))
def test_any_text_is_a_claim_or_a_sentence(text: str) -> None:
    try:
        parse(text, defined=DEFINED, commands=COMMANDS)
    except ClaimError as error:
        assert str(error)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("insert.fense <= 2", "'fense' is nothing that is counted. Did you mean 'fences'"),
        ("insrt.fences <= 2", "unknown operation 'insrt'. Did you mean 'insert'"),
        ("expnd.items_moved <= 2", "Did you mean 'expand'"),
        ("duplicate <= 2", "unknown quantity 'duplicate'. Did you mean 'duplicates'"),
        ("recovery.line_read <= 2", "Did you mean 'recovery.lines_read'"),
        ("insert.log_write == 0", "Did you mean 'log_writes'"),
        ("insert.fences = 2", "'=' compares nothing; write '=='"),
        ("insert.fences 2", "a comparison is missing"),
        ("insert.fences <= ", "a number is missing"),
        ("insert.fences <= -1", "a number is missing behind the comparison, where '-' stands"),
        ("insert.fences <= 2 3", "nothing may follow the number, but '3' does"),
        ("insert.fences.bytes <= 8", "'.bytes' goes with a name that [define] defines"),
        ("insert.commit_store.size <= 8", "only '.bytes' may follow a defined name"),
        ("items <= 8", "'items' can only be divided by"),
        ("mean(duplicates) <= 2", "crash states are not weighed"),
        ("duplicates / items <= 2", "cannot be divided"),
        ("insert.fences / update.fences <= 2", "divide their means"),
        ("mean(insert.fences) / update.fences <= 2", "needs another one"),
        ("mean(insert.fences <= 2", "')' is missing behind the quantity"),
        ("", "a quantity is missing"),
        ("insert.fences <= 2 §", "'§' means nothing"),
    ],
)
def test_mistakes_are_named(text: str, says: str) -> None:
    with pytest.raises(ClaimError) as caught:
        parse(text, defined=DEFINED, commands=COMMANDS)
    assert says in f"{caught.value}. {caught.value.hint}"


# ---- the tables ------------------------------------------------------------------------------------

GOOD = """\
[define]
log_writes = { stores_in = ["*Log*"] }
moved = { marks = ["move.*"] }

[[claim]]
claim = "insert.log_writes == 0"
cites = "a paper, section 3"

[[claim]]
variants = ["published"]
claim = "insert.moved <= 1"
cites = "a paper, section 4"
options = { slots = ["4", "8"] }
"""


def _file(folder: Path, text: str) -> Path:
    path = folder / "claims.toml"
    path.write_text(text)
    return path


def test_claims_know_their_lines(tmp_path: Path) -> None:
    read = sheet.load(_file(tmp_path, GOOD))
    assert [claim.place.rsplit(":", 1)[1] for claim in read.claims] == ["6", "11"]


def test_a_claim_is_made_of_the_runs_that_it_names(tmp_path: Path) -> None:
    claim = sheet.load(_file(tmp_path, GOOD)).claims[1]

    def applies(variant: str, slots: str) -> bool:
        return claim.applies(variant=variant, scenario="insert", model="adr", options={"slots": slots})

    assert applies("published", "4")
    assert not applies("hardened", "4")
    assert not applies("published", "16")
    assert not claim.applies(variant="published", scenario="insert", model="adr", options={})


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('[[claim]]\nclaim = "insert.fences <= 2"\n', 1, "the key 'cites' is missing"),
        ('[[claim]]\nclaim = "insert.fences <= 2"\ncite = "x"\n', 3, "Did you mean 'cites'?"),
        ('[[claim]]\ncites = "x"\nclaim = "insert.fense <= 2"\n', 3, "Did you mean 'fences'"),
        ("[[claim]\n", 1, "malformed TOML"),
        ("[define]\nlog = { stores = [] }\n", 2, "Did you mean 'stores_in'?"),
        ("[define]\nlog = { stores_in = [] }\n", 2, "give either 'stores_in'"),
        ('[define]\nfences = { marks = ["x"] }\n', 2, "'fences' has a meaning of its own"),
        ('[define]\nx = { marks = ["x"] }\n[[claim]]\nclaim = "x.bytes <= 1"\ncites = "y"\n', 4, "have no bytes"),
    ],
)
def test_a_bad_file_is_a_usage_error(tmp_path: Path, text: str, line: int, says: str) -> None:
    with pytest.raises(UsageError) as caught:
        sheet.load(_file(tmp_path, text))
    assert says in caught.value.paragraph()
    assert caught.value.where.endswith(f"claims.toml:{line}")


def test_a_scenario_may_claim_and_use_what_the_scheme_defines(house: House) -> None:
    path = house.scenario("mine", extra='\n[[claim]]\nclaim = "insert.moved <= 0"\ncites = "us"\n')
    known = sheet.load(_file(house.root, GOOD)).definitions
    read = sheet.of_scenario(scenario.load(path), known=known, commands=COMMANDS)
    assert [str(claim.expression) for claim in read.claims] == ["insert.moved <= 0"]
    assert scenario.load(path).content.claim[0].cites == "us"


def test_a_misspelt_key_of_a_scenarios_claim_names_the_right_one(house: House) -> None:
    path = house.scenario("mine", extra='\n[[claim]]\nclaim = "duplicates <= 0"\ncites = "us"\nunles = ["x"]\n')
    with pytest.raises(UsageError, match="unknown key 'unles'") as caught:
        scenario.load(path)
    assert "Did you mean 'unless'?" in caught.value.paragraph()


# ---- judging ---------------------------------------------------------------------------------------

MOST = {
    "value": 3,
    "crash_point": {"index": 4, "event": 9, "when": "before sfence"},
    "operation": {"index": 1, "kind": "insert", "key": "17", "text": "", "in_flight": True},
    "key": "5",
    "site": "targets/level/insert.cc:88",
}


def _states(tmp_path: Path, claim: str, *, kind: str = "complete", maxima: dict[str, Any] | None = None) -> Any:
    read = sheet.load(_file(tmp_path, f'[[claim]]\nclaim = "{claim}"\ncites = "x"\n'))
    run = {"maxima": {"duplicates": MOST} if maxima is None else maxima, "coverage": {"kind": kind}, "trace": None}
    with Symbolizer() as symbolizer:
        (row,) = check(read, read.claims, run_of(run), engine_path=Path("/nowhere"), symbolizer=symbolizer)
    return row


def test_a_state_claim_that_fails_names_operation_and_line(tmp_path: Path) -> None:
    row = _states(tmp_path, "duplicates <= 2")
    assert (row["holds"], row["measured"], row["site"]) == (False, 3, "targets/level/insert.cc:88")
    assert row["operation"] == ("copies of key 5, recovery after a cut in insert(17), before sfence (crash point 4)")


def test_a_state_claim_of_a_sampled_run_says_so_only_when_it_holds(tmp_path: Path) -> None:
    assert "not all were" in _states(tmp_path, "duplicates <= 3", kind="sampled")["note"]
    assert _states(tmp_path, "duplicates <= 3")["note"] == ""
    assert _states(tmp_path, "duplicates <= 2", kind="sampled")["note"] == ""


def test_what_was_not_asked_is_neither_true_nor_false(tmp_path: Path) -> None:
    row = _states(tmp_path, "leaks == 0")
    assert (row["holds"], row["measured"]) == (None, None)
    assert row["note"]


def test_a_claim_about_operations_needs_a_trace(tmp_path: Path) -> None:
    row = _states(tmp_path, "insert.fences <= 2")
    assert (row["holds"], row["note"]) == (None, "there is no trace to measure")
    assert NO_OPERATION


def test_words_for_operations() -> None:
    assert operation_words({"kind": "insert", "key": "17", "text": ""}) == "insert(17)"
    assert operation_words({"kind": "maintain", "key": None, "text": "expand"}) == "expand"


def test_claims_count_for_the_exit_code_only_when_they_are_named() -> None:
    coverage = {"kind": "complete", "nested_complete": 1}
    run = {"findings": [], "performance_bugs": [], "claims": [{"holds": False}], "coverage": coverage, "nested": 1,
           "verdict": "consistent", "error": None}  # fmt: skip
    assert runner.exit_code(run_of(run)) == ExitCode.CLEAN
    assert runner.exit_code(run_of(run), fail_on=parse_fail_on(["claims"])) == ExitCode.FINDINGS
    assert (
        runner.exit_code(run_of({**run, "claims": [{"holds": None}]}), fail_on=frozenset({"claims"})) == ExitCode.CLEAN
    )
