r"""A table as LaTeX: a `longtable` with rules of booktabs, to be taken into a paper with \input.

The paper loads `array`, `booktabs` and `longtable`; any font, encoding and engine will do. A `longtable` goes on over
pages; in a paper of two columns it needs \onecolumn. Columns without a printed title are in the CSV alone.
The widths are for lines of 16 cm.

Everything from outside is escaped. Characters that pdfTeX's own fonts do not have are replaced by a command, or named
as U+2603. A key or a path in any script thus never stops the paper.
"""

from __future__ import annotations

import re
from decimal import Decimal
from importlib.metadata import version

from powercut_reports import format as fmt
from powercut_reports.tables.table import Cell, Head, Table

PACKAGES = ("array", "booktabs", "longtable")
_ESCAPES = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "{}$&#_%"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "`": r"\`{}",
    **{sign: f"{{{sign}}}" for sign in "[]*"},  # at the start of a row they would belong to the \\\\ before it
    "§": r"$\mathsection$",
    "×": r"$\times$",
    "≈": r"$\approx$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "≠": r"$\neq$",
    "·": r"$\cdot$",
    "→": r"$\rightarrow$",
    "←": r"$\leftarrow$",
    "∞": r"$\infty$",
    "µ": r"$\mu$",
    "°": r"$^\circ$",
    "…": r"\dots{}",
    "–": r"\textendash{}",
    "—": r"\textemdash{}",
    "‘": r"\textquoteleft{}",
    "’": r"\textquoteright{}",
    "“": r"\textquotedblleft{}",
    "”": r"\textquotedblright{}",
    "•": r"$\bullet$",
    "\u00a0": "~",
}
#: Letters that every LaTeX knows from UTF-8.
_LETTERS = frozenset("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿßŒœŠšŽžŸĆćČčŁłŃńŘřŚśŻżŹź")
#: Behind these a name of code may be broken.
_BREAKS = "/_.:(,=+"


def escaped(text: str) -> str:
    """Foreign text as LaTeX that shows it."""
    return _apart("".join(_escape(character) for character in fmt.printable(text)))


def code(text: str) -> str:
    """A name or a place of the program; it may be broken behind its punctuation."""
    signs = (_escape(sign) + (r"\allowbreak{}" if sign in _BREAKS else "") for sign in fmt.printable(text))
    return r"\texttt{" + _apart("".join(signs)) + "}" if text else ""


def _apart(text: str) -> str:
    """Two signs that LaTeX would make one of."""
    for sign in "-',":
        text = re.sub(f"{sign}(?={sign})", f"{sign}{{}}", text)
    return text


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if character.isascii() or character in _LETTERS:
        return character
    return f"{{[}}U+{ord(character):04X}{{]}}"


def render(table: Table) -> str:
    """The file's text."""
    shown = [at for at, head in enumerate(table.heads) if head.title and not _is_of_all(table, at)]
    of_all = [str(table.rows[0][at]) for at in range(len(table.heads)) if _is_of_all(table, at)]
    title = table.title + (f" ({', '.join(of_all)})" if of_all else "")
    heads = [table.heads[at] for at in shown]
    titles = " & ".join(f"\\textbf{{{escaped(head.title)}}}" for head in heads)
    rows = [" & ".join(_cell(row[at], table.heads[at]) for at in shown) + r" \\" for row in table.rows]
    none = rf"\multicolumn{{{len(heads)}}}{{@{{}}l@{{}}}}{{None.}} \\"
    return "\n".join(
        [
            f"% Written by powercut {version('powercut')}. Needs \\usepackage{{{','.join(PACKAGES)}}}.",
            r"{\footnotesize\setlength{\tabcolsep}{3pt}%",
            rf"\begin{{longtable}}{{@{{}}{''.join(map(_alignment, heads))}@{{}}}}",
            rf"\caption{{{escaped(title)}}}\label{{tab:powercut-{table.name}}}\\",
            rf"\toprule {titles} \\ \midrule \endfirsthead",
            rf"\toprule {titles} \\ \midrule \endhead",
            r"\bottomrule \endlastfoot",
            *(rows or [none]),
            r"\end{longtable}}",
            "",
        ]
    )


def _is_of_all(table: Table, at: int) -> bool:
    """A column for print alone that says the same of all rows: the caption says it once."""
    head, values = table.heads[at], {row[at] for row in table.rows}
    return not head.name and len(values) == 1 and values != {""}


def _alignment(head: Head) -> str:
    if head.width:
        side = "left" if head.kind in ("number", "count") else "right"
        return rf">{{\ragged{side}\arraybackslash}}p{{{head.width:.2f}\linewidth}}"
    return "r" if head.kind in ("number", "count") else "l"


def _cell(cell: Cell, head: Head) -> str:
    if cell is None or cell == "":
        return r"\textendash{}"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if head.kind == "count":
        return _count(str(cell))
    if isinstance(cell, float):
        # Without an exponent, however small.
        return escaped(f"{Decimal(repr(round(cell, 4))).normalize():f}")
    if isinstance(cell, int):
        return escaped(fmt.grouped(cell) if cell >= 0 else str(cell))
    return code(cell) if head.kind == "code" else escaped(cell)


def _count(text: str) -> str:
    """Prints a number of crash states: in full, or its power of ten, as the reports do."""
    power = fmt.power_of_ten(text)
    return rf"${power.mantissa} \times 10^{{{power.exponent}}}$" if power else escaped(fmt.grouped(text))
