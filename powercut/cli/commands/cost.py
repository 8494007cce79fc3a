"""`powercut cost`: the costs of operations, and their meaning on slow memory."""

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from powercut.base.exit_codes import ExitCode
from powercut.cli import cost_charts, cost_text, output, paper, talk
from powercut.cli.commands import shared
from powercut.cli.commands.grouped import argument, option
from powercut.cost import latency
from powercut.cost import records as cost_records
from powercut.engine import options
from powercut.engine.engine import Interrupt, Interrupted
from powercut.runs import stopping
from powercut.runs.runner import prepare_out
from powercut.scenarios import targets
from powercut_reports.html import Companions


def cost(
    target: Annotated[list[str], argument("TARGET[:VARIANT]...", "Targets to measure.")],
    scenario: shared.Scenarios = None,
    latency_: Annotated[
        list[str] | None,
        option(
            "--latency MODEL",
            f"Latencies: {', '.join(latency.PRESETS)}, or read=200,write=600,fence=0 (ns); may be repeated.  "
            "[default: those of the target's paper]",
        ),
    ] = None,
    seed: shared.Seed = options.DEFAULT_SEED,
    out: shared.Out = shared.DEFAULT_OUT,
    format: shared.RecordFormat = "text,svg",
    json: shared.Json = False,
) -> None:
    """Count what each operation does to memory, and model its time on slow memory.

    Per operation: stores, lines and 256-byte blocks written, flushes, fences, lines read, write amplification, and a
    latency model with the papers' parameters (docs/cost.md). Several targets are also compared with one another.

    Without --scenario: the scenario <scheme>_costs or map_costs, and <scheme>_resize_costs where there is one.
    Records and charts go to OUT/costs, and 'powercut report OUT' shows them.

    Exit code: 0 measured, 2 usage, 3 a measurement failed.
    """
    formats = output.parse_formats(format, known=shared.RECORD_FORMATS)
    words = latency_ or []
    chosen = latency.parse(words)
    selections = targets.select(target)
    models = chosen or latency.defaults([item.target.name for item in selections])
    wanted = [(item, one) for item in selections for one in cost_records.scenarios_of(item, scenario or [])]
    prepare_out(out)
    interrupt = Interrupt()
    records: list[dict[str, Any]] = []
    interrupted = False
    with stopping.stopped_by_signals(interrupt.request):
        for selection, one in wanted:
            try:
                record = cost_records.measure(
                    selection, one, latencies=models, seed=seed, latency_words=words, interrupt=interrupt
                )
            except Interrupted:
                interrupted = True
                break
            cost_records.write(record, out)
            records.append(record)
            if "text" in formats and not json:
                _print(record)
    if "text" in formats and not json:
        _print_comparison(records)
    if "svg" in formats:
        for path in cost_charts.write(records, out):
            talk.say(f"Chart: {path}")
    for folder in paper.write(None, Companions(costs=records), out, formats - {"svg"}):
        talk.say(f"Written: {folder}")
    if json:
        output.print_json({"cost": cost_records.COST_VERSION, "records": records})
    if interrupted:
        talk.say("Interrupted: what was measured is kept.")
    raise typer.Exit(ExitCode.INCOMPLETE if interrupted else ExitCode.CLEAN)


def _print(record: dict[str, Any]) -> None:
    print(cost_text.heading(record))
    if not record["operations"]:
        print("  no operation in an explored phase\n")
        return
    output.print_table(*cost_text.table(record, bars=sys.stdout.isatty()))
    print("single operations, the least and the most:")
    output.print_table(*cost_text.spread(record))
    print(flush=True)


def _print_comparison(records: Sequence[dict[str, Any]]) -> None:
    for kind, table in cost_text.compared(records, bars=sys.stdout.isatty()):
        print(f"{kind}, the fastest first:")
        output.print_table(*table)
        print(flush=True)
