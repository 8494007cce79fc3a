"""Screenshots against small references: not pixel by pixel, but whether a page still looks like itself.

A picture is brought down to a grid of how much of each cell is ink, that is, differs from the ground. Another font or
browser moves ink a little; a style sheet that is gone, a column that falls below another or text that is not there
moves a great part of it. The references are in `data/looks`; POWERCUT_UPDATE_GOLDENS=1 writes them anew.
"""

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from powercut_reports import html
from reports.tests.test_page_browser import wait_until
from reports.tests.typed import runs_of

pytestmark = pytest.mark.browser

Raw = dict[str, Any]
Open = Callable[..., Any]
LOOKS = Path(__file__).parent / "data" / "looks"
GRID = (40, 30)
#: Share of the ink of both pictures that may be elsewhere. Other versions of the fonts move less than half of that
#: share; without its style sheet a page of columns has more than twice as much elsewhere.
MOST = 0.2
VIEWS: dict[str, tuple[str, str, tuple[int, int]]] = {
    "overview-light": ("", "light", (1200, 900)),
    "overview-dark": ("", "dark", (1200, 900)),
    "overview-phone": ("", "light", (390, 844)),
    "finding": ("#run-4-1", "light", (1200, 900)),
    "states": ("#states", "dark", (1200, 900)),
}


def ink(png: bytes) -> list[int]:
    """For each cell of the grid, from 0 to 255, how far it is from the ground."""
    from PIL import Image, ImageChops

    picture = Image.open(io.BytesIO(png)).convert("L")
    ground = max(range(256), key=picture.histogram().__getitem__)
    apart = ImageChops.difference(picture, Image.new("L", picture.size, ground))
    return list(apart.resize(GRID, Image.Resampling.BOX).tobytes())


def moved(one: list[int], other: list[int]) -> float:
    """The share of the ink of both that the other does not have in the same or a neighbouring cell."""
    width, height = GRID

    def missing(of: list[int], at: list[int]) -> int:
        lost = 0
        for place, value in enumerate(of):
            x, y = place % width, place // width
            near = (at[v * width + u] for v in range(max(0, y - 1), min(height, y + 2))
                    for u in range(max(0, x - 1), min(width, x + 2)))  # fmt: skip
            lost += max(0, value - max(near))
        return lost

    return (missing(one, other) + missing(other, one)) / max(1, sum(one) + sum(other))


def arrived(page: Any, fragment: str) -> None:
    """Waits until the page shows the part `fragment`: it unpacks pieces before it goes there."""
    if fragment:
        wait_until(page, f"Math.abs(document.querySelector('{fragment}').getBoundingClientRect().top) < 100")


def settled(page: Any) -> bytes:
    """The picture of a page that no longer moves."""
    before = b""
    for _ in range(50):
        page.wait_for_timeout(150)
        png: bytes = page.screenshot()
        if png == before:
            return png
        before = png
    raise AssertionError("the page still moves after 50 pictures")


@pytest.fixture
def shoot(open_address: Open, sample_runs: list[Raw], tmp_path: Path) -> Callable[..., bytes]:
    def picture(view: str, *, styled: bool = True) -> bytes:
        fragment, scheme, (width, height) = VIEWS[view]
        path = html.write_report(runs_of(sample_runs), tmp_path, title="powercut: level")
        viewport = {"width": width, "height": height}
        page = open_address(path.as_uri() + fragment, viewport=viewport, color_scheme=scheme)
        arrived(page, fragment)
        if not styled:
            page.evaluate("document.styleSheets[0].disabled = true")
        page.evaluate("document.fonts.ready")
        return settled(page)

    return picture


@pytest.mark.parametrize("view", VIEWS)
def test_a_page_looks_like_itself(shoot: Callable[..., bytes], view: str) -> None:
    from PIL import Image

    reference = LOOKS / f"{view}.png"
    found = ink(shoot(view))
    if os.environ.get("POWERCUT_UPDATE_GOLDENS"):
        LOOKS.mkdir(exist_ok=True)
        Image.frombytes("L", GRID, bytes(found)).save(reference, optimize=True)
    expected = list(Image.open(reference).convert("L").tobytes())
    share = moved(expected, found)
    assert share <= MOST, f"{view}: {share:.0%} of the ink moved; if that is meant, run 'make goldens' and look at it"


def test_a_page_without_its_style_does_not(shoot: Callable[..., bytes]) -> None:
    expected = ink(shoot("states"))
    assert moved(expected, ink(shoot("states", styled=False))) > 2 * MOST
    assert moved(expected, [0] * len(expected)) > MOST
