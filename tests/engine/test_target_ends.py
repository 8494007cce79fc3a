"""A target that aborts, asserts or leaves the process: the message says what it said, and where."""

import json
from pathlib import Path
from typing import Any

import pytest

from powercut.cli.main import main
from powercut.compile import cc
from powercut.new_target import new_target
from powercut.scenarios import catalog, targets
from tests.real_engine import require_engine

pytestmark = pytest.mark.slow

HEAD = "#include <assert.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"
USED = """
static int used(const unsigned char* pool) {
  for (int i = 64; i < 2048; ++i) {
    if (pool[i] != 0) return 1;
  }
  return 0;
}
"""


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *, file: str, function: str, code: str) -> dict[str, Any]:
    """The one run of the example target whose `function` begins with `code`."""
    require_engine()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NO_COLOR", "1")
    new_target.generate("ledger", folder / "ledger")
    monkeypatch.chdir(folder / "ledger")
    source = Path(file)
    text = source.read_text(encoding="utf-8")
    at = text.index("{", text.index(f"{function}(")) + 1
    source.write_text(f"{HEAD}{USED if 'used(' in code else ''}{text[:at]}\n  {code}\n{text[at:]}", encoding="utf-8")
    words = ["-std=gnu17", "-O2", "-g", "-shared", "-fPIC", "ledger_target.c", "example_map.c", "-o", "libledger.so"]
    assert cc.run(words, cxx=False) == 0
    main(["run", "./libledger.so", "--no-canary", "--format", "text"])
    targets.forget()
    catalog.forget()
    (record,) = Path(".powercut/runs").glob("*.json")
    made: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    return made


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("_exit(0);", "insert of key 1 ended the process with exit status 0"),
        ("exit(5);", "insert of key 1 ended the process with exit status 5"),
        ('assert(map == 0 && "the table is full");', "the table is full"),
        ('fprintf(stderr, "I give up\\n"); abort();', "died of SIGABRT, without a power cut; it said: I give up"),
    ],
)
def test_a_target_that_ends_the_process_is_quoted(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`_exit` was told as "engine and CLI are of different builds", and nobody saw what an assertion had said."""
    made = run(tmp_path, monkeypatch, file="example_map.c", function="int map_insert", code=code)
    assert made["verdict"] == "unknown" and not made["findings"]
    error = made["error"]
    assert said in error["what"] and "different builds" not in error["next"]
    assert said in capsys.readouterr().out


def test_an_assertion_of_recovery_is_quoted_and_placed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The C library aborts without frame pointers: the finding was placed in its `pthread_kill.c`, without a word."""
    code = 'assert(!used(pool.base) && "recovery cannot cope");'
    made = run(tmp_path, monkeypatch, file="ledger_target.c", function="powercut_status target_open", code=code)
    (finding,) = made["findings"]
    assert finding["invariant"] == "recovery-failed"
    assert "recovery cannot cope" in finding["message"] and ".." not in finding["message"]
    assert finding["fault"]["site"].startswith("ledger_target.c:"), finding["fault"]["stack"]
    out = capsys.readouterr().out
    assert "SUMMARY: powercut: recovery-failed ledger_target.c:" in out and "address 0x0" not in out
