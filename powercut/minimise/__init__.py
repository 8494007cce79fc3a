"""The minimiser: the smallest workload, table and crash that still show the bug of a finding.

    minimal = minimise(record, context=context, folder=out / "minimal")

`case.py` what may shrink · `order.py` what is simpler · `same_bug.py` what must stay · `search.py` the one
`consider`, `ledger.py` what was asked and how much may be · `passes/` what is tried · `examine.py` asks the engine ·
`shrink.py` puts it together · `choose.py` the crash that is shown · `scenario_text.py` the regression test ·
`powercut.corpus.minimal_cases` all known bugs.

`lines.py` does the same for a recorded program whose operations are lines of a file (`--ops-file`), by `ddmin.py`.
Other programs are not minimised, since their workload is not ours to shorten.

Known limits: it finds a local minimum under its order: no operation can be missed and no setting lowered, but another
workload may be shorter still.
"""

from powercut.minimise.ledger import LimitReached, Limits, Progress
from powercut.minimise.lines import FewestLines, fewest_lines
from powercut.minimise.minimal import Minimal
from powercut.minimise.shrink import minimise, refuse_without_plan

__all__ = [
    "FewestLines",
    "LimitReached",
    "Limits",
    "Minimal",
    "Progress",
    "fewest_lines",
    "minimise",
    "refuse_without_plan",
]
