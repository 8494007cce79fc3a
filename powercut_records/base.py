"""Base of all parts of a record: how they are read and written, and texts that may be null."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import VERSION, BaseModel, BeforeValidator, ConfigDict, PlainSerializer, ValidationError

#: For `defer_build` of every model: its validator is built when the class is used first. A command needs some of a
#: hundred, and all of them took 0.05 s. Before 2.14 two threads that used a class first could get the validator of its
#: base class. An older pydantic therefore builds all validators when a module is loaded.
DEFERRED = tuple(int(part) for part in VERSION.split(".")[:2]) >= (2, 14)


class Record(BaseModel):
    model_config = ConfigDict(extra="allow", protected_namespaces=(), defer_build=DEFERRED)

    def __getitem__(self, name: str) -> Any:
        """The field of this name; KeyError where there is none. Tests that people wrote read records like this."""
        if name in type(self).model_fields or name in (self.model_extra or {}):
            return getattr(self, name)
        raise KeyError(name)

    def as_json(self) -> dict[str, Any]:
        """JSON's own types; without the fields that were neither read nor set."""
        return self.model_dump(mode="json", exclude_unset=True)


Part = TypeVar("Part", bound=Record)


def changed(record: Part, **fields: Any) -> Part:
    """A copy with other values for `fields`."""
    return record.model_copy(update=fields)


def without(record: Part, *names: str) -> Part:
    """A copy in which the fields `names` are absent."""
    kept = {name: getattr(record, name) for name in record.model_fields_set if name not in names}
    copy: Part = record.model_construct(_fields_set=set(kept), **kept)
    return copy


def _text(value: object) -> object:
    if value is None:
        return ""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _null(text: str) -> str | None:
    return text or None


#: Null is the empty text, a number its digits.
Text = Annotated[str, BeforeValidator(_text)]
#: A text that is written as null where it is empty.
Name = Annotated[str, BeforeValidator(_text), PlainSerializer(_null, return_type=str | None)]


def first_error(error: ValidationError) -> str:
    """ "findings.0.stores: Input should be a valid list" """
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {first['msg']}" if field else str(first["msg"])
