"""The formats that machines decide by: the function that renders each, and the files of some."""

from collections.abc import Callable

from powercut_reports.gate_formats import github, junit, markdown, sarif

RENDERERS: dict[str, Callable[..., str]] = {
    "sarif": sarif.render,
    "junit": junit.render,
    "github": github.render,
    "markdown": markdown.render,
}
FILES = {"sarif": "report.sarif", "junit": "report.junit.xml", "markdown": "summary.md"}
