"""One word for one thing (docs/words.md): words that were given up do not come back."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

#: A pattern, and what to write instead.
RETIRED = {
    r"hygiene": "performance bug",
    r"gallery": "bug corpus",
    r"comes? to the same": "give the same result",
    r"as one would": "say what it does",
    r"is no matter of": "say what it depends on",
}
TEXT = {".py", ".cc", ".h", ".c", ".md", ".toml", ".j2", ".css", ".js", ".json", ".txt", ".yml", ".cmake", ""}


@pytest.mark.parametrize("word", RETIRED)
def test_a_retired_word_stays_away(word: str) -> None:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    files = [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).suffix in TEXT]
    back = [
        f"{file.relative_to(ROOT)}:{number}"
        for file in files
        if file.is_file() and file != Path(__file__).resolve()
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if re.search(word, line, re.IGNORECASE)
    ]
    assert back == [], f"write '{RETIRED[word]}' instead"
