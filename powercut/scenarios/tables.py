"""The tables `[define]` and `[[claim]]` as strict models; an unknown key is an error. `sheet.py` words the errors."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from powercut_records.base import DEFERRED

Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$")]
Text = Annotated[str, Field(min_length=1)]


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=DEFERRED)


class Definition(Strict):
    """The things that a name of [define] counts: stores by function, or marks."""

    stores_in: list[Text] = Field(default_factory=list)
    marks: list[Text] = Field(default_factory=list)

    @model_validator(mode="after")
    def _one_of_two(self) -> "Definition":
        if bool(self.stores_in) == bool(self.marks):
            raise ValueError("give either 'stores_in' (globs of functions) or 'marks' (globs of marks)")
        return self


class ClaimTable(Strict):
    """One `[[claim]]`."""

    claim: Text
    cites: Text
    note: str = ""
    variants: list[Text] = Field(default_factory=list)
    scenarios: list[Text] = Field(default_factory=list)
    models: list[Text] = Field(default_factory=list)
    options: dict[str, list[Text]] = Field(default_factory=dict)
    when: list[Text] = Field(default_factory=list)
    unless: list[Text] = Field(default_factory=list)
