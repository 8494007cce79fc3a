"""A report of a thousand findings, made of ten real ones that differ from one another in all that can differ.

Run as a script it is the benchmark of the HTML report: its size, the time to write it, and the time until Chromium has
painted and loaded it.
"""

import json
import lzma
import random
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from reports.tests.typed import runs_of

Raw = dict[str, Any]
REAL = Path(__file__).parent / "data" / "real_findings.json.xz"
_BYTES = {"bytes", "floor", "visible", "image"}
_COUNTED = {"event", "line", "crash_event", "first_event"}
_WORDS = {"message", "found", "text"}


def runs(findings: int, *, each: int = 3) -> list[Raw]:
    """Runs of `each` findings, `findings` in all: texts, bytes, lines, events and names are of each its own."""
    real: list[Raw] = json.loads(lzma.decompress(REAL.read_bytes()))
    made: list[Raw] = []
    for number in range(findings):
        base = real[number % len(real)]
        chance = random.Random(number)
        # One substitution a finding: bytes that floor, image and visible had in common stay common, and zeros zero.
        other = [0, *chance.sample(range(1, 256), 255)]
        finding = _distinct(base["findings"][0], number, [f"{byte:02x}" for byte in other])
        if number % each == 0:
            made.append({**base, "scenario": f"{base['scenario']}_{number}", "findings": []})
        made[-1]["findings"].append(finding)
    return made


def _distinct(value: Any, number: int, other: list[str], name: str = "") -> Any:
    if isinstance(value, dict):
        return {key: _distinct(item, number, other, key) for key, item in value.items()}
    if isinstance(value, list):
        return [_distinct(item, number, other, name) for item in value]
    if isinstance(value, str):
        return _other_text(value, number, other, name)
    if isinstance(value, int) and not isinstance(value, bool):
        return value + number * {"offset": 8, **dict.fromkeys(_COUNTED, 1)}.get(name, 0)
    return value


def _other_text(text: str, number: int, other: list[str], name: str) -> str:
    if name in _BYTES:
        return "".join(other[int(text[at : at + 2], 16)] for at in range(0, len(text), 2))
    if name in _WORDS:
        return f"{text} ({number})" if text else text
    if name == "fingerprint":
        return f"{number:012x}"
    if name.endswith("site"):
        return re.sub(r":(\d+)$", lambda found: f":{int(found[1]) + number}", text)
    return re.sub(r"findings/\w+", f"findings/{number:012x}", text)


def main() -> None:
    from playwright.sync_api import sync_playwright

    from powercut_reports import html

    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        made = runs(count)
        before = time.monotonic()
        path = html.write_report(runs_of(made), Path(folder), title=f"{count} findings")
        print(f"{count} findings in {len(made)} runs: {path.stat().st_size / 1e6:.2f} MB", end=", ")
        print(f"written in {time.monotonic() - before:.1f} s")
        chromium = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--headless", "--no-sandbox"])
        for _ in range(3):
            page = chromium.new_page()
            page.goto(path.as_uri())
            times = page.evaluate(
                """() => [performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN,
                          performance.getEntriesByType('navigation')[0].loadEventEnd]"""
            )
            before = time.monotonic()
            page.evaluate("location.hash = '#run-20-2'")
            page.wait_for_selector("#run-20-2 .piece")
            opened = time.monotonic() - before
            print(
                f"first paint {times[0]:.0f} ms, loaded {times[1]:.0f} ms, a finding opened in {1000 * opened:.0f} ms"
            )
            page.close()
        chromium.close()


if __name__ == "__main__":
    main()
