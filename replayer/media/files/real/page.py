"""docs/file-systems.md, from the runs of `make test-real-fs`."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Sequence
from datetime import date

from .rig import Outside, Result
from .whole_run import Effort, WholeRun

HEAD = """\
# Real file systems

Verdicts for ext4, XFS and btrfs rest on [profiles](../replayer/media/files/PROFILES.md): what is believed of a file
system. This page says how the profiles were held against the real ones. `make test-real-fs PAGE=docs/file-systems.md`
writes it. The last run took {minutes} min.

A program runs on a fresh file system, whose disk records every write and every flush. From the record come the images
that a power cut may leave: what was flushed is there, and each later sector is there or not. The kernel mounts each
image and replays its journal. The tree that it then shows is looked up among the trees that the profile allows at that
moment. A tree outside of the profile is an error of ours. [A page of its own](../replayer/media/files/real/README.md)
says how the rig is made, and why it is neither too strict nor too lax.

## The run

Linux {kernel}, {day}. Each of {tests} litmus tests and {programs} random programs ran {recordings} times on each file
system. Write-back was nudged at random (seed {draw}). Up to {images} images of each recording were mounted.

"""

READER = """\
## How to read it

- **Outside** must be 0: no image showed a tree that the profile excludes.{outside}
- **Seen** is the share of the profile's trees that some image showed, at any moment of the program. A share below all
  is no error: the profile may be weaker than the file system, or the run was too short. A profile that is too weak
  costs false alarms, and this run cannot find one.
- A run of one kernel says nothing of another one, nor of other mount options. Run it on the kernel that you ship.
- The disk of the rig keeps its promises. A disk that lies about a flush loses what no file system can save.

"""

FAILED = " **This run failed**: the profile is too strong, or the rig is wrong."


def text_of(runs: Sequence[WholeRun]) -> str:
    effort = runs[0].effort
    outside = sum(len(run.outside()) for run in runs)
    parts = [
        HEAD.format(
            minutes=max(1, round(max(run.seconds for run in runs) / 60)),
            kernel=os.uname().release.partition("-")[0],
            day=date.today().strftime("%-d %B %Y"),
            tests=len(runs[0].tests),
            programs=len(runs[0].programs),
            recordings=effort.recordings,
            draw=effort.draw,
            images=effort.images,
        ),
        _table(runs),
        *(_refused(run) for run in runs),
        *(_unsteady(run) for run in runs),
        READER.format(outside=FAILED if outside else ""),
        _tests(runs),
    ]
    return "".join(parts).rstrip("\n") + "\n"


def _table(runs: Sequence[WholeRun]) -> str:
    lines = [
        "| file system | recordings | images mounted | trees seen | of the profile's | outside |",
        "|---|---|---|---|---|---|",
    ]
    for run in runs:
        recordings = run.effort.recordings * len(run.results)
        outside = len(run.outside())
        share = f"{run.seen:,} | {100 * run.seen // max(1, run.legal)} % of {run.legal:,}"
        shown = f"**{outside}**" if outside else "0"
        lines.append(f"| {run.system} | {recordings:,} | {run.images:,} | {share} | {shown} |")
    return "\n".join(lines) + "\n\n"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False) + "\n\n"


def _refused(run: WholeRun) -> str:
    if not run.refused:
        return ""
    return _paragraph(
        f"**{run.system} and its superblock.** The kernel refused {run.refused} images. A superblock of 1,024 bytes is "
        "two sectors of 512 bytes, and these images have one of the two. Each was mounted with the superblock as the "
        "last flush left it. A disk that writes 4,096 bytes whole, as most of today's disks do, is not concerned."
    )


def _unsteady(run: WholeRun) -> str:
    if not run.unsteady:
        return ""
    return _paragraph(
        f"**{run.system}.** {run.unsteady} images had a tree outside at first, and none when mounted once more."
    )


def _tests(runs: Sequence[WholeRun]) -> str:
    head = " | ".join(run.system for run in runs)
    lines = ["## Seen, per test", "", f"| litmus test | {head} |", "|---" * (len(runs) + 1) + "|"]
    for at, result in enumerate(runs[0].tests):
        lines.append(f"| `{result.name}` | " + " | ".join(_share([run.tests[at]]) for run in runs) + " |")
    if runs[0].programs:
        lines.append("| random programs together | " + " | ".join(_share(run.programs) for run in runs) + " |")
    return "\n".join(lines) + "\n"


def _share(results: Sequence[Result]) -> str:
    seen, legal = sum(result.seen for result in results), sum(result.legal for result in results)
    return f"all {legal:,}" if seen == legal else f"{seen:,} of {legal:,}"


def example() -> WholeRun:
    """A run with a tree outside, for the tests of this page."""
    result = Result("append-one-sector", images=5, legal=3, seen=2, outside=[Outside("a=AY", [1], 0, 7)])
    return WholeRun("ext4", Effort(), [result], [], 60.0)
