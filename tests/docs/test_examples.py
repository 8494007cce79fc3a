"""The pages of docs/examples, typed as they stand: what the commands print, and how they end."""

from __future__ import annotations

import re
import shutil
import string
import subprocess
from collections import Counter
from importlib.metadata import version
from pathlib import Path

import pytest

from powercut.base import paths
from tests.docs.typed_pages import assert_shown, indented_steps, shell_environment, words

EXAMPLES = paths.home() / "docs" / "examples"
#: Pages whose images are large or many.
LONG = ("libpmemobj", "libart", "gdbm", "tinydb", "libpmem", "log-store")
#: Programs of others, and the package that each is from.
PACKAGES = {"bbolt": "golang-github-coreos-bbolt-dev", "gdbm": "libgdbm-dev", "libart": "libpmemobj-dev"}
#: ASCII alone: `lower` knows other letters.
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


def typed(example: str, folder: Path) -> None:
    """Types the commands of a page in a copy of its folder; every one must print what the page shows."""
    place = folder / "docs" / "examples" / example
    shutil.copytree(EXAMPLES / example, place)
    for used in ("targets", "build"):
        (folder / used).symlink_to(paths.home() / used)
    environment = shell_environment({})
    status = 0
    for step in indented_steps((place / "README.md").read_text()):
        if step.command == "echo $?":
            assert [words(line) for line in step.shown] == [str(status)], step
            continue
        if step.command.startswith("export "):
            name, _, value = step.command.removeprefix("export ").partition("=")
            environment[name] = value
            continue
        done = subprocess.run(
            ["bash", "-c", step.command], cwd=place, env=environment, capture_output=True, text=True, timeout=900
        )
        status = done.returncode
        assert_shown(step, done.stdout)
        assert status == 0 or step.command.startswith("powercut run"), f"{step.command}\n{done.stdout}{done.stderr}"


def pages() -> list[object]:
    names = sorted(page.parent.name for page in EXAMPLES.glob("*/README.md"))
    return [pytest.param(name, marks=pytest.mark.long) if name in LONG else name for name in names]


@pytest.mark.parametrize("example", pages())
def test_page_does_what_it_says(example: str, tmp_path: Path) -> None:
    typed(example, tmp_path)


def counted_by_hand(files: list[Path]) -> Counter[tuple[str, str]]:
    """The output of `tf_idf counts`, by the obvious way."""
    counts: Counter[tuple[str, str]] = Counter()
    for file in files:
        words = re.findall("[a-z]+", file.read_bytes().decode("latin-1").translate(_LOWER))
        counts.update((file.name, word) for word in words)
        counts.update(("documents", word) for word in set(words))
    return counts


def test_the_tables_count_what_is_there(tmp_path: Path) -> None:
    place = tmp_path / "docs" / "examples" / "tf-idf"
    shutil.copytree(EXAMPLES / "tf-idf", place)
    (tmp_path / "targets").symlink_to(paths.home() / "targets")

    def printed(*command: str) -> str:
        return subprocess.run(command, cwd=place, check=True, stdout=subprocess.PIPE, text=True, timeout=100).stdout

    (place / "zipf").mkdir()
    printed("make")
    printed("./tf_idf", "zipf", "3", "4", "3000", "zipf")
    texts = [Path("/usr/share/common-licenses") / name for name in ("Apache-2.0", "BSD", "GPL-2", "MPL-2.0")]
    for files in (texts, sorted((place / "zipf").iterdir())):
        for table in ("mb", "mdb", "mdb_l"):
            library = paths.home() / "build" / "lib" / "plain" / f"libpowercut-{table}.so"
            rows = [
                line.split(" ") for line in printed("./tf_idf", "counts", str(library), *map(str, files)).splitlines()
            ]
            counts = {(document, word): int(count) for document, word, count in rows}
            assert len(counts) == len(rows) > 1000
            assert counts == counted_by_hand(files), table


@pytest.mark.parametrize("example", ["binary-only", "libpmem", "libpmemobj", "log-store", "raw-intrinsics"])
def test_page_shows_a_clean_run_and_a_finding(example: str) -> None:
    page = indented_steps((EXAMPLES / example / "README.md").read_text())
    runs = [step for step in page if step.command.startswith("powercut run")]
    assert any("consistent, complete" in " ".join(step.shown) for step in runs)
    assert any("ERROR: powercut:" in " ".join(step.shown) for step in runs)
    # None of them makes its pool in the recorded command.
    assert all(" --setup " in run.command for run in runs)
    (source,) = (EXAMPLES / example).glob("*.c")
    assert len(source.read_text().splitlines()) <= 120


@pytest.mark.parametrize("example", sorted(PACKAGES))
def test_page_names_the_version_that_is_typed(example: str) -> None:
    query = ["dpkg-query", "-W", "-f", "${source:Upstream-Version}", PACKAGES[example]]
    assert title(example).endswith(f" {subprocess.run(query, check=True, capture_output=True, text=True).stdout}")


def test_page_names_the_version_of_tinydb() -> None:
    assert title("tinydb") == f"# TinyDB {version('tinydb')}"


def title(example: str) -> str:
    return (EXAMPLES / example / "README.md").read_text().splitlines()[0]


@pytest.mark.long  # more images, 12 ms each and more
def test_libart_with_the_missing_line_loses_no_key(tmp_path: Path) -> None:
    place = tmp_path / "libart"
    shutil.copytree(EXAMPLES / "libart", place)
    steps = [step.command for step in indented_steps((place / "README.md").read_text())]
    (run,) = (command for command in steps if command.startswith("powercut run"))
    more = run.replace("--images 8", "--images 64")
    environment = shell_environment({"PMEM_IS_PMEM_FORCE": "1"})
    # 3: nothing was found, in a sample.
    for command, status in (("make", 0), (run, 1), ("make fixed", 0), (more, 3)):
        done = subprocess.run(["bash", "-c", command], cwd=place, env=environment, timeout=900)
        assert done.returncode == status, command
