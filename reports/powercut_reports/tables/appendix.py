r"""The appendix of a paper: how it was measured, then claims, necessity, cost, fidelity and verdicts as tables.

`body` is a file to take in with \input; `document` is the least that makes a PDF of it. A part that does not apply
to the target stands there with the reason, so that nobody reads its absence as a result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version

from powercut_reports.tables import as_latex
from powercut_reports.tables.table import Table

BODY, DOCUMENT = "appendix.tex", "main.tex"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A section: its tables, and notes on them for the reader."""

    title: str
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()


def body(title: str, facts: Sequence[tuple[str, str]], parts: Sequence[Part]) -> str:
    """`facts`: what the results depend on, each with its name."""
    lines = [
        f"% Written by powercut {version('powercut')}. Needs \\usepackage{{{','.join(as_latex.PACKAGES)}}}.",
        rf"\section{{{as_latex.escaped(title)}}}",
        r"\begin{description}\raggedright",
        *(rf"\item[{{{as_latex.escaped(name)}}}] {as_latex.escaped(words)}" for name, words in facts),
        r"\end{description}",
    ]
    for part in parts:
        lines += ["", rf"\subsection{{{as_latex.escaped(part.title)}}}"]
        lines += [as_latex.escaped(note) + "\n" for note in part.notes]
        lines += [as_latex.render(table) for table in part.tables]
    return "\n".join(lines).rstrip() + "\n"


def document() -> str:
    """A whole document of the body."""
    return "\n".join(
        [
            r"\documentclass[a4paper]{article}",
            r"\usepackage[margin=25mm]{geometry}",
            rf"\usepackage{{{','.join(as_latex.PACKAGES)}}}",
            r"\begin{document}",
            rf"\input{{{BODY}}}",
            r"\end{document}",
            "",
        ]
    )
