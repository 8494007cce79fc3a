"""The records as tables, for spreadsheets and papers.

`table` what a table is · `of_runs` verdicts, bugs, findings, performance bugs, claims · `of_research` necessity, cost,
fidelity · `as_csv` and `as_latex` the two formats · `appendix` all of them as the appendix of a paper.

checker/RUN.md has the columns. A column once given keeps its name and its meaning.
"""
