"""Files of other commands in an output folder, for the HTML report: fidelity, audit, necessity and costs.

One that cannot be read is left out, and said with the command that makes it again; the report stands without it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from powercut.base.user_files import json_of

if TYPE_CHECKING:
    from powercut_reports.html import Companions

#: The file that `powercut fidelity --out` writes.
FIDELITY_REPORT = "fidelity.json"
#: The file that `powercut audit` writes into its own output folder, which is `audit` in that of the runs unless it was
#: named.
AUDIT_REPORT = "audit.json"


def load(out: Path, *, say: Callable[[str], None]) -> "Companions":
    """All that is there; `say` gets one line for each file that cannot be read."""
    # Loaded here: a command that writes text alone needs none of these modules.
    from powercut.cost.records import COST_VERSION
    from powercut.necessity.record import NECESSITY_VERSION
    from powercut_reports.html import Companions

    def read(path: Path, command: str) -> dict[str, Any] | None:
        try:
            content = json_of(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            say(f"{path}: left out of the report, since it cannot be read ({error}). Run '{command}'.")
            return None
        return content if isinstance(content, dict) else None

    def read_all(folder: str, command: str, version: tuple[str, int]) -> list[dict[str, Any]]:
        key, number = version
        records = []
        for path in sorted((out / folder).glob("*.json")):
            if (record := read(path, command)) is None:
                continue
            if record.get(key) == number:
                records.append(record)
            else:
                known = f"its version is {record.get(key)!r}, this build reads {number}"
                say(f"{path}: left out of the report ({known}). Run '{command}'.")
        return records

    again = f"powercut audit --out {out / 'audit'}"
    return Companions(
        fidelity=read(out / FIDELITY_REPORT, f"powercut fidelity --out {out}"),
        audit=read(out / "audit" / AUDIT_REPORT, again) or read(out / AUDIT_REPORT, again),
        necessity=read_all("necessity", f"powercut necessity --out {out}", ("necessity", NECESSITY_VERSION)),
        costs=read_all("costs", f"powercut cost --out {out}", ("cost", COST_VERSION)),
    )
