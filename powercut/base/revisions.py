"""A gate's questions to git: which commit is a revision, which commit is the working folder at, which files were
there?"""

import os
import subprocess
from pathlib import Path

from powercut.base.errors import UsageError


def resolve(revision: str) -> str:
    """The commit id of a revision of the repository that the working folder is in."""
    if not revision.strip() or revision.startswith("-"):
        raise UsageError(
            f"'{revision}' is no revision", where="--since", next_step="Name a branch, a tag or a commit, such as main."
        )
    if _git("rev-parse", "--is-inside-work-tree") is None:
        raise UsageError(
            "the working folder is in no git repository",
            where=f"--since {revision}",
            next_step="Run it inside the repository whose revision this is, or leave --since out.",
        )
    commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    if not commit:
        raise UsageError(
            f"there is no revision '{revision}' here",
            where="--since",
            next_step="Name a branch, a tag or a commit; in CI, check out with the history (fetch-depth: 0).",
        )
    return commit


def head() -> str | None:
    """The commit id of the working folder; None outside a repository, or with changes of tracked files."""
    if _git("status", "--porcelain", "--untracked-files=no") != "":
        return None
    return _git("rev-parse", "--verify", "--quiet", "HEAD") or None


def top() -> Path | None:
    """The repository's folder; None outside one."""
    found = _git("rev-parse", "--show-toplevel")
    return Path(found) if found else None


def last_change(path: Path) -> str | None:
    """The commit that changed a file last; None for a file that is in no commit."""
    return _git("log", "-1", "--format=%H", "--", str(path)) or None


def text_at(commit: str, path: Path) -> str | None:
    """The text that a file had at a commit; None where it was not there."""
    return _git("show", f"{commit}:./{os.path.relpath(path)}")


def renamed_files(commit: str) -> dict[Path, Path]:
    """The files of this folder that had another name at a commit, as absolute paths, and that other name."""
    listed = _git("diff", "--relative", "--find-renames", "--diff-filter=R", "--name-status", "-z", commit)
    fields = (listed or "").split("\0")
    here = Path.cwd()
    return {here / new: here / old for _, old, new in zip(*(fields[part::3] for part in range(3)), strict=False)}


def _git(*arguments: str) -> str | None:
    """Returns the output of git without the last newline; None when git fails or is not installed."""
    try:
        answer = subprocess.run(
            ["git", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None
