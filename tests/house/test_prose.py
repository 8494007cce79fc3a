"""Comments, docstrings, messages and pages keep the mechanical rules of prose; `prose.py` reads them.

`python -m tests.house.prose FILE…` prints the faults of a file before it is committed.
"""

from __future__ import annotations

import pytest

from tests.house import prose


def reasons(name: str, text: str) -> list[str]:
    return [fault.reason for fault in prose.of_file(name, text)]


def test_prose_keeps_its_rules() -> None:
    assert len(prose.files()) > 1000
    found = prose.all_faults()
    assert not found, "\n".join(f"{name}:{fault}" for name, faults in found.items() for fault in faults)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a/x.cc", "// Of two lines the first.\nint a;\n", ["begins with 'Of'"]),
        ("a/x.cc", "int a;  // lines of the pool\nint b;  // Those of others.\n", ["begins with 'Those'"]),
        ("a/x.h", "/* Good.\n * The same for lines.\n */\n", ["begins with 'The same'"]),
        ("a/x.cc", f"// {'word ' * 26}\n// end.\n", ["27 words"]),
        ("a/x.cc", f"// {'word ' * 20}; {'word ' * 20}.\n", []),
        ("a/x.cc", '// See http://x.org/Of. e.g. What\nconst char* b = "Of // What";\n', []),
        ("a/x.cc", "// If it is one of those, it may be what they want of it.\n", ["7 bare pronouns in 14 words"]),
        (
            "checker/x.cc",
            'Error("Of lines here "\n"none is left. So it ends.");\n',
            ["begins with 'Of'", "begins with 'So'"],
        ),
        ("checker/x.cc", 'Run("So");\n#include "What/is/this.h"\n', []),
        ("powercut/x.py", 'raise E(f"So {a} is no line at all.")\n', ["begins with 'So'"]),
        ("tests/x.py", 'raise E(f"So {a} is no line at all.")\n', []),
        (
            "a/x.py",
            '"""That is so."""\n#: So it is.\nx = 1  # What\n',
            ["begins with 'So'", "begins with 'What'", "begins with 'That'"],
        ),
        (
            "a/x.md",
            "# What it is\n\n| Of | a table |\n\n```sh\nSo 1\n```\n\nWhat is it? Good.\n- Those are bad.\n",
            ["begins with 'Those'"],
        ),
    ],
)
def test_a_fault_is_seen_and_nothing_else(name: str, text: str, expected: list[str]) -> None:
    assert reasons(name, text) == expected
