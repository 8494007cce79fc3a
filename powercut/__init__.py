"""powercut: is there a moment at which a power cut loses or corrupts data?

    import powercut

    powercut.check("level:hardened", [powercut.insert(1), powercut.update(1), powercut.maintain("expand")])

Names that tests use are imported when they are first named, so that `import powercut` costs next to nothing.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import powercut.stateful as stateful  # noqa: F401  # `from powercut import` is a cycle to mypy
    from powercut.testing.api import InconsistentError as InconsistentError
    from powercut.testing.api import Result as Result
    from powercut.testing.api import Session as Session
    from powercut.testing.api import UnknownError as UnknownError
    from powercut.testing.api import check as check
    from powercut.testing.check_options import Check as Check
    from powercut.testing.folders import check_files as check_files
    from powercut.testing.operations import Operation as Operation
    from powercut.testing.operations import erase as erase
    from powercut.testing.operations import fill as fill
    from powercut.testing.operations import increment as increment
    from powercut.testing.operations import insert as insert
    from powercut.testing.operations import lookup as lookup
    from powercut.testing.operations import maintain as maintain
    from powercut.testing.operations import mix as mix
    from powercut.testing.operations import until as until
    from powercut.testing.operations import update as update

__version__ = "0.2.0"

_FROM = {
    **dict.fromkeys(("InconsistentError", "Result", "Session", "UnknownError", "check"), "powercut.testing.api"),
    "Check": "powercut.testing.check_options",
    "check_files": "powercut.testing.folders",
    **dict.fromkeys(
        ("Operation", "erase", "fill", "increment", "insert", "lookup", "maintain", "mix", "until", "update"),
        "powercut.testing.operations",
    ),
}


def __getattr__(name: str) -> Any:
    if name == "stateful":
        return importlib.import_module("powercut.stateful")
    if name not in _FROM:
        raise AttributeError(f"module 'powercut' has no attribute '{name}'")
    return getattr(importlib.import_module(_FROM[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_FROM, "stateful"])
