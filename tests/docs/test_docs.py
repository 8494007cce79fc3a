"""The documentation: every command on a page is typed, every link leads somewhere, and the site is built from it.

`typed_pages.py` says what a page's blocks mean. Pages whose commands another test runs are named here with that test.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from powercut.base import paths
from tests.docs.typed_pages import Block, Typist, blocks
from tests.real_engine import require_engine
from tools import docs_site

ROOT = paths.home()
DOCS = ROOT / "docs"
#: Pages with commands that other tests run.
ELSEWHERE = {
    "docs/pytest.md": "tests/docs/test_pytest_docs.py",
}
#: How many blocks may say `not run`; a reason that can be done away with should be.
NOT_RUN = 10
#: Beginnings of a page's command lines: nobody would type an indented block that begins with one.
COMMANDS = r"(?:\$ |powercut |\.venv/bin/|make\b|python3? |pip |apt-get |git |CC=)"


def pages() -> list[str]:
    return ["README.md", *sorted(f"docs/{page.name}" for page in DOCS.glob("*.md"))]


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def runnable(page: str) -> list[Block]:
    return [block for block in blocks(read(page)) if block.steps or block.title]


# -- commands --------------------------------------------------------------------------------------------


def clone(folder: Path) -> Path:
    """The root of a clone as a reader sees it, with an output folder of their own, and a program."""
    for name in (".venv", "build", "targets", "scenarios", "docs", "checker", "tools", "Makefile", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    return program(folder)


def program(folder: Path) -> Path:
    """A folder with two of the examples, which have `create`, `run`, `check` and `dump`.

    `prog` is the ledger, on the pool `POOL`; `store` the log, on the device `FILE`. `table` has a broken free list.
    """
    for name in PROGRAMS:
        (folder / name).write_bytes(built(name))
        (folder / name).chmod(0o755)
    return folder


#: Programs that the pages name, and what the compiler is given for each.
PROGRAMS = {
    "prog": (DOCS / "examples/raw-intrinsics/ledger.c",),
    "store": (DOCS / "examples/log-store/store.c",),
    "table": ("-DBUG=1", ROOT / "tests/program/programs/pairs/lost_free_list.c"),
}


@functools.cache
def built(name: str) -> bytes:
    """A program of the pages, as the C compiler of the system builds it."""
    flags = ["-O2", "-g", "-mclwb", f"-I{ROOT / 'targets' / 'include'}"]
    with tempfile.TemporaryDirectory() as made:
        subprocess.run(["cc", *flags, *map(str, PROGRAMS[name]), "-o", f"{made}/program"], check=True)
        return Path(made, "program").read_bytes()


PLACES: dict[str, Callable[[Path], Path]] = {
    **{f"docs/{page.name}": program for page in DOCS.glob("program-*.md")},
    "docs/pmreorder.md": program,
    "README.md": clone,
}


def typed(page: str, folder: Path, *, long: bool) -> int:
    """Types a page's commands; the number of those."""
    require_engine()
    typist = Typist(PLACES.get(page, lambda place: place)(folder))
    number = 0
    for block in runnable(page):
        if block.title is not None:
            file = typist.folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text, encoding="utf-8")
        if block.mark == "not run" or (block.mark == "long") != long:
            continue
        for step in block.steps:
            typist.type(step)
            number += 1
    typist.end()
    return number


def with_commands(mark: str | None) -> list[str]:
    found = [page for page in pages() if page not in ELSEWHERE]
    return [page for page in found if any(block.steps and block.mark == mark for block in runnable(page))]


@pytest.mark.slow
@pytest.mark.parametrize("page", with_commands(None))
def test_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    assert typed(page, tmp_path, long=False)


@pytest.mark.long
@pytest.mark.parametrize("page", with_commands("long"))
def test_long_commands_of_a_page(page: str, tmp_path: Path) -> None:
    assert typed(page, tmp_path, long=True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("$ echo 12 states, 5 ms\n12 states, … ms\n$ exit 3\n$ echo $?\n3\n", None),
        ("$ echo 12 states\n13 states\n", "does not print"),
        ("$ printf 'b\\na\\n'\na\nb\n", "does not print"),
        ("$ exit 3\n", "ended with status 3"),
        ("$ exit 3\n$ true\n", "ended with status 3"),
        ("$ exit 3\n$ echo $?\n0\n", "exit status 3"),
    ],
)
def test_a_page_that_is_wrong_fails(text: str, said: str | None, tmp_path: Path) -> None:
    (block,) = blocks(f"```console\n{text}```\n")
    typist = Typist(tmp_path)

    def run() -> None:
        for step in block.steps:
            typist.type(step)
        typist.end()

    if said is None:
        run()
    else:
        with pytest.raises(AssertionError, match=said):
            run()


def test_marks_titles_and_long_lines() -> None:
    page = '<!-- not run: no network -->\n```sh\na \\\n  b  # why\n```\n\n```toml title="x/y.toml"\nz = 1\n```\n'
    first, second = blocks(page)
    assert (first.mark, first.reason, [step.command.split() for step in first.steps]) == (
        "not run",
        "no network",
        [["a", "b"]],
    )
    assert (second.title, second.text, second.steps) == ("x/y.toml", "z = 1\n", [])


def test_the_finding_that_is_explained_is_that_of_the_tutorial() -> None:
    (shown,) = [block for block in blocks(read("docs/reading-a-report.md")) if block.language == "text"]
    lines = [line for line in shown.text.splitlines() if not line.startswith("SUMMARY")]
    assert len(lines) == 12
    assert not set(lines) - set(read("docs/tutorial.md").splitlines())


def test_few_blocks_are_not_run() -> None:
    left = [(page, block.reason) for page in pages() for block in runnable(page) if block.mark == "not run"]
    assert len(left) <= NOT_RUN, left
    for page, test in ELSEWHERE.items():
        assert Path(page).name.removesuffix(".md") in read(test), f"{test} does not read {page}"


def test_commands_are_in_blocks_that_are_typed() -> None:
    for page in pages():
        if page not in ELSEWHERE:
            text = re.sub(r"^```.*?^```", "", read(page), flags=re.MULTILINE | re.DOTALL)
            left = re.findall(rf"^    {COMMANDS}.*", text, re.MULTILINE)
            assert not left, f"{page}: put these into a fenced `console` or `sh` block: {left}"
            for block in blocks(read(page)):
                assert block.language, f"{page}: a block without a language: {block.text[:80]!r}"


# -- links -----------------------------------------------------------------------------------------------


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.MULTILINE | re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        while slug in found:
            slug += "-1"
        found.add(slug)
    return found


def test_every_link_of_every_page_leads_somewhere() -> None:
    known = docs_site.tracked()
    folders = {parent.as_posix() for name in known for parent in Path(name).parents}
    dead = []
    for page in sorted(name for name in known if name.endswith(".md")):
        for link in docs_site.links(read(page)):
            if docs_site.is_external(link):
                dead += [] if docs_site.has_external_form(link) else [f"{page}: {link} has not the form of a link"]
                continue
            path = docs_site.linked_path(page, link) or page
            anchor = link.partition("#")[2]
            if path not in known and path not in folders:
                dead.append(f"{page}: {link} leads to nothing")
            elif anchor and (not path.endswith(".md") or anchor not in anchors(path)):
                dead.append(f"{page}: {link} has no such heading")
    assert not dead, "\n".join(dead)


def test_a_list_has_a_blank_line_above() -> None:
    """GitHub makes a list of it without one; the site makes it part of the paragraph."""
    for page in docs_site.with_everything_linked(list(pages())):
        if page.endswith(".md"):
            text = re.sub(r"^```.*?^```", "", read(page), flags=re.MULTILINE | re.DOTALL)
            for block in re.split(r"\n\s*\n", text):
                first, *rest = [line for line in block.strip("\n").splitlines() if not line.startswith("#")] or [""]
                swallowed = [line for line in rest if re.match(r"[-*] |1\. |\|", line)]
                assert not swallowed or re.match(r"\s*(?:[-*] |\d+\. |\|)", first), f"{page}: {swallowed[0]}"


def test_a_dead_link_is_seen() -> None:
    assert docs_site.links("a [b](c.md#d) `[no](x.md)` ![e](f.svg)\n```text\n[no](y.md)\n```\n") == ["c.md#d", "f.svg"]
    assert docs_site.linked_path("docs/ci.md", "../checker/RUN.md#known") == "checker/RUN.md"
    assert docs_site.linked_path("docs/ci.md", "#here") is None
    assert not docs_site.has_external_form("https://localhost/x")
    assert not docs_site.has_external_form("http://example.org")
    assert docs_site.has_external_form("https://example.org/a_(b)")


# -- the site --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "site"
    done = build(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def build(folder: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    command = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--config-file",
        str(config),
        "--site-dir",
        str(folder),
    ]
    # A proxy that is not there: whatever would be fetched fails.
    nowhere = {"https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9", "NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **nowhere})


@pytest.mark.slow
def test_site_is_built_and_has_every_page(site: Path) -> None:
    for page in pages():
        assert (site / docs_site.place(page)).is_file()
    assert "lost-item" in (site / docs_site.place("checker/ORACLE.md")).read_text(encoding="utf-8")
    assert 'id="powercut-minimise"' in (site / docs_site.place("docs/cli.md")).read_text(encoding="utf-8")
    minimal = (site / docs_site.place("scenarios/known_bugs/MINIMAL.md")).read_text(encoding="utf-8")
    assert minimal.count("<td><code>") > 2 * 400 and "level/move-token-first" in minimal
    listing = (site.parent / "site-links.txt").read_text(encoding="utf-8")
    assert "https://keepachangelog.com/en/1.1.0/\tCHANGELOG.md" in listing


def test_a_reader_of_the_site_can_choose_every_page() -> None:
    """A page that `nav` leaves out is built, and nobody comes there."""
    nav = read("mkdocs.yml").partition("\nnav:\n")[2]
    schemes = [f"targets/{target.parent.name}/README.md" for target in sorted(ROOT.glob("targets/*/target.cc"))]
    for scheme in schemes:
        assert f"]({scheme.removeprefix('targets/')})" in read("targets/README.md"), (
            f"targets/README.md: a row for {scheme}"
        )
    for page in [*pages(), *schemes, *docs_site.GENERATED]:
        assert (page in docs_site.GENERATED) != (ROOT / page).exists(), (
            f"{page} is written by a program: do not commit it"
        )
        assert re.search(rf"[-:] {re.escape(page)}$", nav, re.MULTILINE), f"mkdocs.yml: put {page} into nav"


@pytest.mark.slow
def test_site_fetches_nothing(site: Path) -> None:
    """No script, style, font or image from elsewhere; links that a reader clicks may lead there."""
    fetched = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?(?:src|href)=["']?(https?:)?//[^>]*>""")
    for page in site.rglob("*.html"):
        found = [match[0] for match in fetched.finditer(page.read_text(encoding="utf-8"))]
        assert not [tag for tag in found if 'rel="canonical"' not in tag], page
    for style in site.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(https?:)?//", style.read_text(encoding="utf-8")), style


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nowhere.md", "index.md#nowhere", "http://example.org"])
def test_site_with_a_dead_link_is_not_built(link: str, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "docs").mkdir(parents=True)
    (tree / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "docs_site.py", tree / "tools")
    (tree / "docs" / "index.md").write_text("# Here\n\n[there](index.md)\n", encoding="utf-8")
    text = re.sub(r"^nav:.*", "nav: [docs/index.md]\n", read("mkdocs.yml"), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^extra_css:.*\n|^  favicon:.*\n", "", text, flags=re.MULTILINE)
    (tree / "mkdocs.yml").write_text(text, encoding="utf-8")
    subprocess.run(["git", "init", "-q", str(tree)], check=True)
    done = build(tree / "site", tree / "mkdocs.yml")
    assert done.returncode == 0, done.stderr
    (tree / "docs" / "index.md").write_text(f"# Here\n\n[there]({link})\n", encoding="utf-8")
    done = build(tree / "site", tree / "mkdocs.yml")
    assert done.returncode != 0
    assert link.partition("#")[2] or link in done.stderr
