"""A necessity record as text for people: the sites by result, each with its line of source and the reason."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.text import Text

from powercut.necessity.verdict import NECESSARY, NOT_SHOWN, REDUNDANT, RESULTS

_STYLES = {NECESSARY: "green", REDUNDANT: "red", NOT_SHOWN: "yellow"}


def headline(record: dict[str, Any]) -> str:
    """Says which sites were judged, and the results."""
    totals = record["totals"]
    numbers = ", ".join(f"{totals[result]} {result}" for result in RESULTS)
    judged = len(record["sites"])
    sites = f"{judged} of {record['sites_total']}" if judged < record["sites_total"] else str(judged)
    scenarios = len(record["scenarios"])
    return (
        f"{record['target']}:{record['variant']} ({record['model']}, {scenarios} scenario{'s' * (scenarios != 1)}): "
        f"{sites} flush and fence sites, {numbers}"
    )


def notes(record: dict[str, Any]) -> Iterator[str]:
    """Yields notes on the analysis as a whole."""
    base = record["unedited"]
    if base["findings"]:
        yield (
            f"With all its flushes and fences it has {base['findings']} findings already; a site is necessary only "
            "where a finding of another fingerprint appears."
        )
    if base["incomplete"]:
        names = ", ".join(base["incomplete"])
        yield f"Not explored completely as they are, so nothing is concluded from them: {names}. Raise --budget."
    missing = record["sites_total"] - len(record["sites"])
    if missing:
        yield f"{missing} sites were not judged."
    yield from (f"Harness failed: {error}" for error in record["errors"])


def render(record: dict[str, Any], console: Console) -> None:
    """Prints the record."""

    def line(*parts: str | tuple[str, str]) -> None:
        console.print(Text.assemble(*parts), soft_wrap=True)

    line((headline(record), "bold"))
    width = max((len(_what(site)) for site in record["sites"]), default=0)
    for result in RESULTS:
        sites = [site for site in record["sites"] if site["result"] == result]
        if not sites:
            continue
        line((result, f"bold {_STYLES[result]}"))
        for site in sites:
            executed = f"{site['count']}x" + (", in recovery" if site["in_recovery"] else "")
            line("  ", (_what(site).ljust(width), _STYLES[result]), f"  {site['site']}  ({executed})")
            line("      ", (site["source"] or site["function"], "dim"))
            line(f"      {site['why']}")
            if site["finding"]:
                line(f"      powercut reproduce {site['finding']['file']}")
    for note in notes(record):
        line(note)


def _what(site: dict[str, Any]) -> str:
    return f"{site['kind']} {site['name']}"
