"""The pictures of the docs: records real runs, renders their report, and photographs it in Chromium.

    .venv/bin/python tools/screenshots.py [FOLDER]      # `make screenshots`

FOLDER (default build/screenshots) keeps the records, in .powercut, and a second call does not record them again. The
pictures go to docs/images, each with few enough colours to stay below 150 kB.
"""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
POWERCUT = ROOT / ".venv" / "bin" / "powercut"
CHROMIUM = "/usr/bin/chromium"
LARGEST = 150_000  # bytes a picture
SCHEMES = ("level", "path", "bch", "pfht", "clevel", "smartcuckoo")
VARIANTS = tuple(f"{scheme}:{variant}" for scheme in SCHEMES for variant in ("published", "hardened"))
BUG = "insert-top-token-first"
_RUN = f'.run:has(.run-scenario:text-is("{BUG}"))'


@dataclass(frozen=True, kw_only=True)
class Shot:
    name: str
    at: str  # what is at the top of the picture
    scheme: Literal["light", "dark"] = "light"
    size: tuple[int, int] = (1200, 900)
    open: tuple[str, ...] = ()  # more details to open
    inside: str = ""  # an element in `at` that is at the top instead, once `at` is open


SHOTS = (
    Shot(name="overview-light", at="#top"),
    Shot(name="overview-dark", at="#top", scheme="dark"),
    Shot(name="overview-phone", at="#top", size=(390, 844)),
    Shot(name="run", at=_RUN),
    Shot(name="finding", at=f"{_RUN} .finding", size=(1200, 1150)),
    Shot(name="finding-dark", at=f"{_RUN} .finding", inside=".film", scheme="dark", size=(1200, 820)),
    Shot(name="finding-phone", at=f"{_RUN} .finding", size=(390, 844)),
    Shot(name="claims", at="#claims", size=(1200, 700)),
    Shot(name="necessity", at="#necessity", open=("#necessity .target",)),
    Shot(name="cost", at="#costs", size=(1200, 760)),
    Shot(name="states", at="#states", scheme="dark", size=(1200, 620)),
)
#: The report of a single run: the first example of the README.
FIRST_SHOTS = (Shot(name="first-finding", at="#top", size=(1200, 960)),)
FIRST_RUN = (
    *("--setup", "./ledger create ledger.pool", "--record", "./ledger-bug run ledger.pool"),
    *("--recover", "./ledger-bug check ledger.pool", "--pool", "ledger.pool"),
)


def record(folder: Path) -> Path:
    """Everything that the report shows, each command once; returns the report."""
    bug = f"known_bugs/level/{BUG}"
    steps = (
        ("cost", "level:published", "path:hardened", "bch:hardened", "pfht:hardened", "--format", "text"),
        ("fidelity", "level"),
        ("necessity", "level:hardened"),
        ("audit", *VARIANTS, "--images", "2000"),
        ("run", *VARIANTS, "--explain", "0", "--format", "text"),
        ("run", "level:hardened", "--scenario", bug, "--explain", "1", "--format", "text"),
    )
    folder.mkdir(parents=True, exist_ok=True)
    for number, (command, *arguments) in enumerate(steps):
        done = folder / f"step-{number}"
        if not done.exists():
            print(f"powercut {command} {' '.join(arguments)}", file=sys.stderr, flush=True)
            out = ".powercut/audit" if command == "audit" else ".powercut"
            run(folder, command, *arguments, "--out", out)
            done.touch()
    run(folder, "report", ".powercut", "--format", "html")
    return folder / ".powercut" / "report.html"


def record_first(folder: Path) -> Path:
    """The report of the ledger that forgets a flush. The picture names `folder`."""
    shutil.copytree(ROOT / "docs" / "examples" / "raw-intrinsics", folder)
    subprocess.run(["make", "-s"], cwd=folder, check=True)
    run(folder, "run", *FIRST_RUN, "--format", "html")
    return folder / ".powercut" / "report.html"


def run(folder: Path, *arguments: str) -> None:
    """One command of powercut; findings are what the pictures are of, so exit code 1 is fine."""
    done = subprocess.run([POWERCUT, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise SystemExit(f"powercut {' '.join(arguments)} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def photograph(report: Path, shots: tuple[Shot, ...], images: Path) -> None:
    from playwright.sync_api import sync_playwright

    images.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        for shot in shots:
            width, height = shot.size
            page = chromium.new_page(viewport={"width": width, "height": height}, color_scheme=shot.scheme)
            page.goto(report.as_uri())
            png = _taken(page, shot)
            page.close()
            path = images / f"{shot.name}.png"
            path.write_bytes(_small(png))
            print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB", file=sys.stderr)
        chromium.close()


def _taken(page: Any, shot: Shot) -> bytes:
    place = page.locator(shot.at).first
    for selector in shot.open:
        page.locator(selector).first.evaluate("e => { e.open = true; }")
    # Opens what it is in, as a link to it would; packed details are read first.
    place.evaluate("e => { for (let d = e; d; d = d.parentElement) { if ('open' in d) { d.open = true; } } }")
    page.wait_for_timeout(700)
    top = place.locator(shot.inside).first if shot.inside else place
    top.evaluate("e => { window.scrollTo(0, 0); e.scrollIntoView(); }")
    page.wait_for_timeout(300)
    png: bytes = page.screenshot()
    return png


def _small(png: bytes) -> bytes:
    """The picture, with fewer colours where all of them are too many bytes."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    for colors in (0, 256, 64, 16):
        buffer = io.BytesIO()
        fewer = picture.quantize(colors, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE) if colors else picture
        fewer.save(buffer, "PNG", optimize=True)
        if buffer.tell() <= LARGEST:
            break
    return buffer.getvalue()


def main() -> None:
    folder = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "screenshots"
    photograph(record(folder), SHOTS, IMAGES)
    first = Path(tempfile.gettempdir()) / "powercut" / "ledger"
    shutil.rmtree(first, ignore_errors=True)
    photograph(record_first(first), FIRST_SHOTS, IMAGES)


if __name__ == "__main__":
    main()
