"""Parts that all events of the engine share: the base class, and the types of their fields.

Numbers that can outgrow 53 bits stay decimal strings (`Decimal`).
"""

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from powercut_records.base import DEFERRED

Verdict = Literal["consistent", "inconsistent", "unknown"]


def _as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Decimal = Annotated[str, BeforeValidator(_as_text), StringConstraints(pattern=r"^\d+$")]
#: A text that the engine may leave out or set to null.
Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
#: `[module, offset]` pairs, innermost first.
RawStack = list[tuple[int, int]]


class EngineEvent(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=DEFERRED)


class Module(EngineEvent):
    path: str
    build_id: str = ""
