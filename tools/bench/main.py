"""`make bench`: measures and writes docs/performance.md. `python -m tools.bench [--only SECTION]… [--full]`.

Each section is a module with `measure` and `markdown`; those about growth draw a chart as well. Measured text stands
between markers on the page, and the rest of the page is written by people.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from powercut.base import paths
from powercut.base.errors import PowercutError
from powercut.cli import output, talk
from tools.bench import (
    behaviours as bench_behaviours,
)
from tools.bench import (
    bugs as bench_bugs,
)
from tools.bench import (
    capture as bench_capture,
)
from tools.bench import (
    execution as bench_execution,
)
from tools.bench import (
    flash as bench_flash,
)
from tools.bench import (
    length as bench_length,
)
from tools.bench import (
    machine as bench_machine,
)
from tools.bench import (
    machines as bench_machines,
)
from tools.bench import (
    page as bench_page,
)
from tools.bench import (
    pending as bench_pending,
)
from tools.bench import (
    program_mode as bench_program_mode,
)
from tools.bench import (
    rate as bench_rate,
)
from tools.bench import (
    resizes as bench_resizes,
)
from tools.bench import (
    schemes as bench_schemes,
)
from tools.bench import (
    threads as bench_threads,
)
from tools.bench import (
    undecided as bench_undecided,
)
from tools.bench import (
    valgrind as bench_valgrind,
)

Values = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Section:
    """One part of the page."""

    measure: Callable[[argparse.Namespace], Values]
    markdown: Callable[[Values], str]
    chart: Callable[[Values], str] | None = None


def _capture_table(values: Values) -> str:
    return bench_page.table(["figure", "measured"], [[name.replace("_", " "), value] for name, value in values.items()])


def _section(module: ModuleType, *taken: str) -> Section:
    """The section of a module, whose `measure` takes these options of the command line."""
    return Section(
        measure=lambda given: module.measure(**{name: getattr(given, name) for name in taken}),
        markdown=module.markdown,
        chart=getattr(module, "chart", None),
    )


SECTIONS = {
    "length": _section(bench_length, "full", "jobs"),
    "pending": _section(bench_pending, "jobs"),
    "undecided": _section(bench_undecided),
    "resizes": _section(bench_resizes),
    "flash": _section(bench_flash, "full", "jobs"),
    "schemes": _section(bench_schemes, "jobs"),
    "threads": _section(bench_threads, "jobs"),
    "behaviours": _section(bench_behaviours, "jobs"),
    "execution": _section(bench_execution, "repeat"),
    "capture": Section(
        measure=lambda given: bench_capture.measure(
            operations=bench_capture.OPERATIONS if given.full else bench_capture.OPERATIONS // 10, repeat=given.repeat
        ),
        markdown=_capture_table,
    ),
    "rate": _section(bench_rate, "repeat"),
    "program": _section(bench_program_mode, "repeat"),
    "valgrind": _section(bench_valgrind, "repeat"),
    "machines": _section(bench_machines, "repeat"),
    "bugs": Section(
        measure=lambda given: bench_bugs.measure(given.bug_operations, jobs=given.jobs), markdown=bench_bugs.markdown
    ),
}


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description="Measures, writes the page.")
    parser.add_argument("--only", action="append", choices=SECTIONS, help="this section (default all)")
    parser.add_argument("--full", action="store_true", help="the workloads of 10^6 operations as well")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes (default 2)")
    parser.add_argument("--repeat", type=int, default=3, help="repetitions of short measurements; the fastest counts")
    parser.add_argument("--bug-operations", type=int, default=10_000, help="length of the runs with planted bugs")
    parser.add_argument("--page", type=Path, default=None, help="page to write (default docs/performance.md)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args(argv)
    given.repeat = max(given.repeat, 1)
    page = given.page or paths.home() / "docs" / "performance.md"
    all_values: Values = {"machine": bench_machine.sentence()}
    try:
        for name in given.only or SECTIONS:
            section = SECTIONS[name]
            values = all_values[name] = section.measure(given)
            content = f"Measured on {all_values['machine']}.\n\n{section.markdown(values)}"
            bench_page.write_section(page, name, content)
            if section.chart is not None:
                bench_page.write_file(page.with_name(f"{page.stem}-{name}.svg"), section.chart(values))
            if not given.json:
                print(f"{name}\n\n{section.markdown(values)}\n", flush=True)
    except PowercutError as error:
        talk.say_error(error)
        return error.exit_code
    if given.json:
        output.print_json(all_values)
    return 0
