"""MkDocs' hook for the documentation site: where its pages come from, and which links leave it.

Idea: every page has one source, at its place in the repository, and its relative links hold there, as a reader of the
repository follows them. A page's *source name* is therefore its path from the root (`docs/ci.md`, `checker/RUN.md`), so
MkDocs resolves and checks these links as they stand; only where the page is put in the site is changed: `docs/` is its
root. Whatever a page links to comes along, pages and other files alike; a folder becomes a link to its README.
Pages that programs write (`GENERATED`) are made in `build/generated` and have source names as well; only `nav` names
them, since a link to such a page leads nowhere in the repository.

External links are listed in `build/site-links.txt`, and must have the form of one (https, a host); nothing is fetched.
Known inaccuracy: links are found with a regular expression, outside of code; MkDocs itself checks what they lead to.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Any
from urllib.parse import urlsplit

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
#: The modules that write pages which are not committed, with the file's name as their last argument.
GENERATED = {
    "docs/cli.md": ["tools.docs"],
    "scenarios/known_bugs/MINIMAL.md": ["powercut.corpus.minimal_cases", "--page"],
}
_CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`|<!--.*?-->", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(\s*<?([^()\s>]+(?:\([^()\s]*\))?)>?[^()]*\)|^\[[^\]]+\]:\s+(\S+)", re.MULTILINE)
_external: dict[str, set[str]] = {}


def links(text: str) -> list[str]:
    """The targets of a page's links and images, in order, none of those in code."""
    return [first or second for first, second in _LINK.findall(_CODE.sub("", text))]


def is_external(link: str) -> bool:
    return bool(urlsplit(link).scheme)


def has_external_form(link: str) -> bool:
    """https (or mail), and a host that has a dot and no user or port: enough to catch a slip of the pen."""
    parts = urlsplit(link)
    host = re.fullmatch(r"[\w-]+(\.[\w-]+)+", parts.netloc)
    return parts.scheme == "mailto" or (parts.scheme == "https" and host is not None)


def linked_path(source: str, link: str) -> str | None:
    """The path from the root that a relative link leads to; None for an external one and for an anchor alone."""
    path = link.partition("#")[0]
    if is_external(link) or not path:
        return None
    return normpath((PurePosixPath(source).parent / path).as_posix())


def tracked() -> set[str]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    return {name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()}


def place(source: str) -> str:
    """Where a file of the repository lies in the site."""
    path = PurePosixPath(source.removeprefix("docs/"))
    if source == "README.md":
        return "about.html"
    if path.suffix != ".md":
        return path.as_posix()
    return path.with_name("index.html" if path.name == "README.md" else f"{path.stem}.html").as_posix()


def with_everything_linked(begin: list[str]) -> list[str]:
    """The given files and all that their pages lead to."""
    known = tracked()
    found: dict[str, None] = {}
    todo = list(begin)
    while todo:
        source = todo.pop()
        if source in found or source not in known:
            continue
        found[source] = None
        if source.endswith(".md"):
            paths = (linked_path(source, link) for link in links((ROOT / source).read_text(encoding="utf-8")))
            todo += [path for path in paths if path is not None]
    return sorted(found)


def on_files(files: Files, *, config: Any) -> Files:
    """All files of the site by their paths from the root."""
    _external.clear()
    own = [file for file in files if Path(file.abs_src_path or "").is_relative_to(config.docs_dir)]
    rest = [file for file in files if file not in own]
    sources = [f"docs/{file.src_uri}" for file in own] + list(_in_nav(config.nav))
    made = [source for source in GENERATED if source in sources]
    folders = dict.fromkeys(with_everything_linked(sources), ROOT) | {source: generated(source) for source in made}
    moved = [
        File(
            source,
            src_dir=str(folder),
            dest_dir=config.site_dir,
            use_directory_urls=False,
            dest_uri=place(source),
        )
        for source, folder in folders.items()
    ]
    return Files([*moved, *rest])


def generated(source: str) -> Path:
    """Makes a page anew; the folder in which it has its source name."""
    folder = ROOT / "build" / "generated"
    module, *options = GENERATED[source]
    subprocess.run([sys.executable, "-m", module, *options, str(folder / source)], cwd=ROOT, check=True)
    return folder


def _in_nav(item: Any) -> list[str]:
    if isinstance(item, str):
        return [item]
    values = item.values() if isinstance(item, dict) else item
    return [source for value in values for source in _in_nav(value)]


def on_page_markdown(markdown: str, *, page: Any, config: Any, files: Files) -> str:
    """Collects external links; a link to a folder that has a README leads to that."""
    del config
    for link in links(markdown):
        if is_external(link):
            _external.setdefault(link, set()).add(page.file.src_uri)
        path = linked_path(page.file.src_uri, link)
        if path is not None and (ROOT / path).is_dir() and files.get_file_from_path(f"{path}/README.md"):
            markdown = markdown.replace(f"]({link})", f"]({link.rstrip('/')}/README.md)")
    return markdown


def on_post_build(*, config: Any) -> None:
    """Writes the list of external links, and refuses those that have no form."""
    listing = Path(config.site_dir).with_name("site-links.txt")
    rows = [f"{link}\t{' '.join(sorted(pages))}\n" for link, pages in sorted(_external.items())]
    listing.write_text("".join(rows), encoding="utf-8")
    wrong = [row.strip() for row, link in zip(rows, sorted(_external), strict=True) if not has_external_form(link)]
    if wrong:
        raise PluginError("These links have not the form of a link to the web (https, a host):\n" + "\n".join(wrong))
