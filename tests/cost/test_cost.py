"""`powercut cost`: what is counted of an operation, what the model makes of it, tables, charts, and bad input."""

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.base.errors import UsageError
from powercut.base.exit_codes import ExitCode
from powercut.cli import cost_charts, cost_text
from powercut.cli.main import main
from powercut.cost import latency, operation_costs
from powercut.cost import records as cost_records
from powercut.cost.operation_costs import COUNTS, Counts, Measured, Meter, Operation
from powercut.engine import engine
from powercut.engine import trace_events as records_of
from powercut.scenarios import catalog, plan, targets
from tests.real_engine import require_engine

KEY_17 = records_of._key(17, 16)


def op(kind: str, *inside: dict[str, Any], status: str = "OK", text: str = "") -> list[dict[str, Any]]:
    return [
        {"kind": "op-begin", "thread": 0, "code": kind, "key": KEY_17, "value": "", "text": text},
        *inside,
        {"kind": "op-end", "thread": 0, "code": status},
    ]


def store(offset: int, size: int = 8, *, nt: bool = False) -> dict[str, Any]:
    return {"kind": "nt-store" if nt else "store", "thread": 0, "offset": offset, "bytes": "2a" * size}


def flush(offset: int) -> dict[str, Any]:
    return {"kind": "flush", "thread": 0, "offset": offset, "code": "clwb"}


FENCE = {"kind": "fence", "thread": 0, "code": "sfence"}


def metered(*records: list[dict[str, Any]], lines_read: tuple[int, ...] = ()) -> list[Operation]:
    meter = Meter(lines_read, explored=True)
    for record in [record for part in records for record in part]:
        meter.add(record)
    return meter.operations


def test_what_is_counted_of_an_operation() -> None:
    inside = [store(60, 8), store(64, 1), flush(0), flush(64), flush(64), FENCE]
    (insert,) = metered(op("insert", *inside), lines_read=(5,))
    assert insert.key == "17"
    assert insert.counts == Counts(
        stores=2, store_bytes=9, lines=2, blocks=1, flushes=3, fences=1, lines_read=5, write_backs=2
    ), "the third flush finds its line clean"


def test_flushes_of_lines_that_hold_zeroes_can_be_left_out() -> None:
    zero = store(64) | {"bytes": "00" * 8}
    inside = [store(0), flush(0), zero, flush(64), store(64), zero, flush(64), FENCE]
    for zeroing, flushes in ((True, 3), (False, 2)):
        meter = Meter(explored=True, zeroing=zeroing)
        for record in op("insert", *inside, status="FULL"):
            meter.add(record)
        (insert,) = meter.operations
        assert (insert.counts.flushes, insert.counts.fences, insert.code) == (flushes, 1, "FULL")


def test_non_temporal_stores_to_a_line_leave_together() -> None:
    one, two = store(0, nt=True), store(8, nt=True)
    (insert,) = metered(op("insert", one, two, FENCE, store(16, nt=True), FENCE))
    assert (insert.counts.nt_stores, insert.counts.write_backs) == (3, 2)


def test_a_later_operation_pays_for_the_line_that_it_writes_back() -> None:
    first, second = metered(op("insert", store(0)), op("lookup", flush(0)))
    assert (first.counts.write_backs, second.counts.write_backs) == (0, 1)


def test_items_commands_phases_and_cuts() -> None:
    failed = op("insert", store(0), status="FULL")
    hidden = [{"kind": "phase", "thread": 0, "explore": False}, *op("insert")]
    shown = [{"kind": "phase", "thread": 0, "explore": True}, *op("maintain", text="expand")]
    cut = [op("insert", store(0))[0], {"kind": "cut", "thread": 0}]
    found = metered(op("insert"), failed, hidden, shown, cut)
    assert [(item.index, item.kind, item.items) for item in found] == [
        (0, "insert", 0),
        (1, "insert", 1),
        (3, "expand", 2),
    ]


@pytest.mark.parametrize(("key", "name"), [(KEY_17, "17"), ("ff" * 16, "ones"), ("00" * 8, "zeros"), ("2a", "0x2a")])
def test_names_of_keys(key: str, name: str) -> None:
    assert records_of.key_name(key) == name
    assert records_of.key_name("") is None


def test_latencies() -> None:
    counts = Counts(lines_read=3, flushes=2, nt_stores=1, fences=2)
    (model,) = latency.parse(["read=100,write=10,fence=1"])
    assert model.parts(counts) == (300, 30, 2)
    assert [model.write_ns for model in latency.defaults(["level"])] == [200, 600, 1000]
    assert [model.read_ns for model in latency.defaults(["dash"])] == [305]
    assert len(latency.defaults(["level", "dash"])) == 4
    assert len(latency.parse(["osdi18", "osdi18-600"])) == 3, "each once"
    for wrong in ("read=1", "osdi", "read=1,write=2,write=3", "read=x,write=1", ""):
        with pytest.raises(UsageError, match="no latency model"):
            latency.parse([wrong])


def record(target: str, *operations: Operation, scenario: str = "map_costs") -> dict[str, Any]:
    header = {"target": target, "variant": "hardened", "scenario": scenario, "paper": "", "summary": "For a test."}
    measured = Measured(operations=list(operations), item_bytes=32)
    return cost_records.of_measured(measured, latency.parse(["osdi18-200", "osdi18-600"]), header=header)


def operation(kind: str, *, flushes: int, index: int = 0, items: int = 4) -> Operation:
    counts = Counts(stores=flushes, flushes=flushes, write_backs=flushes, lines_read=1)
    return Operation(index=index, kind=kind, key="17", items=items, counts=counts)


def test_a_record_has_averages_bounds_and_the_costliest() -> None:
    made = record(
        "level", operation("insert", flushes=1), operation("insert", flushes=4, index=1), operation("open", flushes=9)
    )
    (insert,) = made["operations"]
    assert (insert["count"], insert["flushes"], insert["write_amplification"]) == (2, 2.5, 5.0)
    assert insert["latency_ns"] == [200 + 2.5 * 200, 200 + 2.5 * 600]
    assert (insert["least"]["flushes"], insert["most"]["flushes"], insert["costliest"]["index"]) == (1, 4, 1)
    assert insert["most"]["latency_ns"] == [1000, 2600]
    assert set(COUNTS) <= insert.keys()


def test_tables_compare_scheme_with_scheme() -> None:
    slow, fast = record("bch", operation("insert", flushes=4)), record("level", operation("insert", flushes=1))
    ((kind, (titles, rows)),) = cost_text.compared([slow, fast], bars=True)
    assert kind == "insert"
    assert [row[0] for row in rows] == ["level:hardened", "bch:hardened"]
    assert rows[1][-2].strip() == "2.50", "1,000 ns to 400 ns"
    assert rows[1][-1] == "█" * 24
    assert len(titles) == len(rows[0])
    assert list(cost_text.compared([slow], bars=False)) == [], "nothing to compare it with"


def test_resizes_are_compared_by_item() -> None:
    large = record("level", operation("expand", flushes=100, items=100))
    small = record("bch", operation("expand", flushes=50, items=10))
    ((kind, (_, rows)),) = cost_text.compared([large, small], bars=False)
    assert "by item" in kind
    assert [row[0] for row in rows] == ["level:hardened", "bch:hardened"]


def test_charts_are_files_that_stand_alone_and_do_not_change(tmp_path: Path) -> None:
    records = [record("level", operation("insert", flushes=1)), record("bch", operation("insert", flushes=4))]
    files = cost_charts.write(records, tmp_path)
    assert [path.name for path in files] == [
        "level-hardened-map_costs.svg", "bch-hardened-map_costs.svg", "compared-insert.svg",
    ]  # fmt: skip
    compared = files[-1].read_text()
    assert compared.startswith("<svg ") and "prefers-color-scheme: dark" in compared
    assert "level:hardened" in compared and "write-backs" in compared
    before = [path.read_bytes() for path in files]
    assert [path.read_bytes() for path in cost_charts.write(records, tmp_path)] == before


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["levle"], "unknown target 'levle'. Did you mean 'level'?"),
        (["level", "--latency", "osdi"], "'osdi' is no latency model. Did you mean 'osdi18'"),
        (["level", "--format", "pdf"], "unknown format 'pdf'. There are text, csv, latex, svg."),
        (["level", "--scenario", "other_costs"], "none of these scenarios fits 'level'"),
    ],
)
def test_bad_input(house: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], expected: str) -> None:
    house.scenario("map_costs", targets='["*"]')
    house.scenario("other_costs", targets='["patterns"]')
    assert main(["cost", *arguments]) == ExitCode.USAGE
    said = capsys.readouterr()
    assert expected in said.err and "Traceback" not in said.err and said.out == ""
    assert not (house.root / ".powercut").exists()


def test_on_a_scheme(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    require_engine()
    given = ["cost", "path:hardened", "--scenario", "path_insert", "--latency", "osdi18-600", "--out", str(tmp_path)]
    assert main([*given, "--json"]) == ExitCode.CLEAN
    printed = json.loads(capsys.readouterr().out)
    (path,) = (tmp_path / "costs").glob("*.json")
    assert path.name == "path-hardened-path_insert.json"
    assert printed["records"] == [json.loads(path.read_text())]
    insert = next(row for row in printed["records"][0]["operations"] if row["kind"] == "insert")
    # The item and its token, each written back and fenced once (OSDI 2018, section 3.3(1)).
    assert (insert["least"]["flushes"], insert["least"]["fences"]) == (2, 2)
    assert insert["lines_read"] > 0
    assert (tmp_path / "costs" / "path-hardened-path_insert.svg").is_file()
    assert main(given) == ExitCode.CLEAN
    assert "write amp." in capsys.readouterr().out


def test_items_of_mixed_sizes_have_a_mean() -> None:
    """Amplification is of the mean item that the run writes; where all have one size, of that size."""
    require_engine()
    mixed, one = catalog.matching("map_sizes")[0], catalog.matching("map_costs", measurements=True)[0]
    clevel = targets.find("clevel")
    measured = operation_costs.measure(plan.build(clevel, variant="hardened", scenario=mixed, seed=1))
    # The values that steps size are 1, 400, 400, 9, 200 and 1 byte long; all others, and all keys, are drawn.
    assert 8 + 1 < measured.item_bytes < 64 + 400
    inserts = operation_costs.total(measured.of("insert"))
    assert measured.amplification("insert", inserts) == inserts.write_backs * 64 / measured.item_bytes
    of_one_size = plan.build(clevel, variant="hardened", scenario=one, seed=1)
    sizes = of_one_size["scenario"]["key_size"] + of_one_size["scenario"]["value_size"]
    assert operation_costs.measure(of_one_size).item_bytes == sizes


def test_the_mean_of_items_that_are_written() -> None:
    meter = Meter()
    for kind, key, value in (("insert", "00" * 8, "11" * 2), ("update", "00" * 8, "11" * 5), ("erase", "00" * 8, "")):
        meter.add({"kind": "op-begin", "thread": 0, "code": kind, "key": key, "value": value, "text": ""})
        meter.add({"kind": "op-end", "thread": 0, "code": "OK"})
    assert meter.item_bytes == 12, "(10 + 13) / 2, rounded"


def test_the_engine_counts_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two ways to count one trace: ours, operation by operation, and the engine's sums."""
    require_engine()
    (scenario,) = catalog.matching("bch_evict")
    wanted = plan.build(targets.find("bch"), variant="hardened", scenario=scenario, seed=1)
    answers: list[dict[str, Any]] = []
    single = engine.single

    def listen(*given: Any, **rest: Any) -> Any:
        answers.append(single(*given, **rest)[1])

    monkeypatch.setattr(engine, "single", listen)
    measured = operation_costs.measure(wanted)
    (sums,) = answers
    for kind in ("insert", "erase", "lookup"):
        found = measured.of(kind)
        if kind not in sums["counters_explored"]:
            assert not found
            continue
        counted = operation_costs.total(found)
        expected = sums["counters_explored"][kind] | {"lines_read": sums["lines_read"][kind]}
        assert {name: getattr(counted, name) for name in COUNTS if name in expected} == {
            name: expected[name] for name in COUNTS if name in expected
        }
