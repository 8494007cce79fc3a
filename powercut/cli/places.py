"""Files as a code host names them: relative to the repository, for annotations on its lines.

Records name files relative to the folder that powercut runs in (`paths.relative`), which keeps fingerprints and
baselines the same on a desk and in CI. GitHub and code scanning read them relative to the repository. Where the two
differ, the reports that place annotations get a copy of the records. Every file of the copy that lies in this folder
has the folder's name before it.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from powercut.base import revisions
from powercut_records.run import RunRecord

_SITES = frozenset({"site", "store_site", "lost_site", "place"})


def prefix() -> str:
    """The working folder within its repository, as "sub/folder/"; empty at the top and outside a repository."""
    top = revisions.top()
    here = Path.cwd().resolve()
    if top is None or here == top.resolve() or not here.is_relative_to(top.resolve()):
        return ""
    return f"{here.relative_to(top.resolve())}/"


def in_repository(runs: Sequence[RunRecord]) -> Sequence[RunRecord]:
    """The records with files as the repository names them; the same records where they are so already."""
    before = prefix()
    return [RunRecord.model_validate(_moved(run.as_json(), before, {})) for run in runs] if before else runs


def _moved(value: Any, before: str, known: dict[str, bool]) -> Any:
    if isinstance(value, list):
        return [_moved(item, before, known) for item in value]
    if not isinstance(value, dict):
        return value
    moved = {name: _moved(item, before, known) for name, item in value.items()}
    # A frame has a function; the `file` of a record is that of the record itself.
    names = _SITES | {"file"} if "function" in value and "line" in value else _SITES
    for name in names & value.keys():
        if isinstance(value[name], str) and _is_here(value[name], known):
            moved[name] = before + value[name]
    return moved


def _is_here(site: str, known: dict[str, bool]) -> bool:
    """Whether a file, or a `file:line`, lies in the working folder."""
    file, colon, line = site.rpartition(":")
    name = file if colon and line.isdigit() else site
    if name not in known:
        known[name] = not Path(name).is_absolute() and Path(name).is_file()
    return known[name]
