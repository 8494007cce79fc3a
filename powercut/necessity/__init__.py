"""Necessity analysis: each flush site and each fence site is dropped in turn, and what is left is explored again.

    record = necessity.analyse(requests, header=header, context=context, jobs=2)

`sites.py` what a site is, and where it occurs · `effects.py` what they did in a trace · `unedited_run.py`
the runs as they are · `drop.py` one site dropped from one run · `verdict.py` what the drops of a site show ·
`record.py` the record (checker/RUN.md) · `analysis.py` all sites of a target.

A site is *necessary* when some run without it has a finding that no run with it has. The finding is kept with its
trace, and `powercut reproduce` replays it. A site is *redundant* under three conditions on every run that reaches the
site. Without the site the run was explored completely, has no new finding, and provably has the same crash states under
the same obligations. Otherwise the site is *not shown by this workload*: it makes something durable, and no query of
the scenarios depends on it.

A proof of redundancy is one for these traces: another workload may need the site. Known limits: sites in recovery are
never shown to be redundant, since the explorer counts no states inside it; the fences of locked instructions and of
locks are no sites, as they are there for visibility; operations take the way that they took with the site.
"""

from powercut.necessity.analysis import Progress, Silent, analyse

__all__ = ["Progress", "Silent", "analyse"]
