"""The steps of a scenario file: operations on keys, fills, mixes, choices of threads (scenarios/SCHEMA.md)."""

from typing import Annotated, Literal, Union, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)

from powercut.base.errors import nearest
from powercut.scenarios.sizes import MOST_BYTES
from powercut_records.base import DEFERRED

#: Limits of a thread that has a choice: its operations, and the alternatives of one choice.
MOST_CHOOSING, MOST_ALTERNATIVES = 8, 64
KeyOp = Literal["insert", "update", "erase", "lookup", "increment"]
#: The keys whose bytes are all 0x00 and all 0xFF.
NamedKey = Literal["zeros", "ones"]


def parse_key(key: object) -> object:
    """A key of a list as it is: a number, or the name of a key that has one; ValueError for anything else."""
    names = get_args(NamedKey)
    if isinstance(key, str) and key not in names:
        close = nearest(key, names)
        raise ValueError(f"'{key}' is no key; " + (f"did you mean '{close[0]}'?" if close else "write a number"))
    if not isinstance(key, str) and (not isinstance(key, int) or isinstance(key, bool) or key < 1):
        raise ValueError(f"{key} is no key; write a number from 1 on, 'zeros' or 'ones'")
    return key


class Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, defer_build=DEFERRED)


class KeyStep(Strict):
    """insert, update, erase, lookup or increment of `from`..`to`, or of a list of keys."""

    op: KeyOp
    first: int | None = Field(default=None, alias="from", ge=1)
    last: int | None = Field(default=None, alias="to", ge=1)
    keys: list[Annotated[int | NamedKey, BeforeValidator(parse_key)]] | None = None
    #: The number that an increment adds; None is 1.
    by: int | None = Field(default=None, ge=-(1 << 31), lt=1 << 31)
    #: Bytes of each value that an insert or update writes; None: the scenario draws the size.
    value_size: int | None = Field(default=None, ge=1, le=MOST_BYTES)

    @model_validator(mode="after")
    def _a_size_of_a_value(self) -> "KeyStep":
        if self.value_size is not None and self.op not in ("insert", "update"):
            raise ValueError(f"'value_size' is of the value that an insert or update writes, and this is '{self.op}'")
        return self

    @model_validator(mode="after")
    def _a_difference_of_an_increment(self) -> "KeyStep":
        if self.by is not None and self.op != "increment":
            raise ValueError(f"'by' is what an increment adds, and this is '{self.op}'")
        if self.by == 0:
            raise ValueError("'by' is 0: such an increment changes nothing")
        return self

    @model_validator(mode="after")
    def _one_way_to_name_keys(self) -> "KeyStep":
        if (self.keys is None) == (self.first is None and self.last is None):
            raise ValueError("name the keys once: either 'from' and 'to', or 'keys'")
        if self.keys is None and (self.first is None or self.last is None):
            raise ValueError("'from' and 'to' go together")
        if self.first is not None and self.last is not None and self.last < self.first:
            raise ValueError(f"'to' ({self.last}) is below 'from' ({self.first})")
        if self.keys is not None and not self.keys:
            raise ValueError("'keys' is empty")
        return self


class MaintainStep(Strict):
    op: Literal["maintain"]
    command: str


class FillStep(Strict):
    op: Literal["fill"]
    limit: int = Field(ge=1)


class UntilStep(Strict):
    op: Literal["until"]
    mark: str
    limit: int = Field(ge=1)


class MixStep(Strict):
    op: Literal["mix"]
    operations: int = Field(ge=1)
    read: float = Field(default=0.0, ge=0, le=1)
    update: float = Field(default=0.0, ge=0, le=1)
    insert: float = Field(default=0.0, ge=0, le=1)
    #: Share of increments of a present counter; an insert is then an increment of a fresh key.
    increment: float = Field(default=0.0, ge=0, le=1)
    erase: float = Field(default=0.0, ge=0, le=1)
    rmw: float = Field(default=0.0, ge=0, le=1)
    distribution: Literal["zipfian", "uniform", "latest"] = "zipfian"
    theta: float = Field(default=0.99, gt=0, lt=1)

    @model_validator(mode="after")
    def _shares_add_up(self) -> "MixStep":
        total = self.read + self.update + self.insert + self.increment + self.erase + self.rmw
        if abs(total - 1.0) > 1e-9:
            raise ValueError(f"the shares read, update, insert, increment, erase and rmw add up to {total:g}, not 1")
        return self


STEPS: dict[str, type[Strict]] = {
    **dict.fromkeys(get_args(KeyOp), KeyStep),
    "maintain": MaintainStep,
    "fill": FillStep,
    "until": UntilStep,
    "mix": MixStep,
}


def _step_kind(value: object) -> str:
    op = value.get("op") if isinstance(value, dict) else getattr(value, "op", None)
    if not isinstance(op, str) or op not in STEPS:
        raise ValueError(_unknown_op(op))
    return STEPS[op].__name__


def _unknown_op(op: object) -> str:
    if op is None:
        return "a step has no 'op'"
    close = nearest(str(op), STEPS)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(STEPS)}"
    return f"unknown op '{op}'; {hint}"


def _known_op(value: object) -> object:
    _step_kind(value)  # Raised here, so that pydantic reports our sentence and not the discriminator's.
    return value


Step = Annotated[
    Union[  # noqa: UP007  # Annotated members need the spelled form
        Annotated[KeyStep, Tag("KeyStep")],
        Annotated[MaintainStep, Tag("MaintainStep")],
        Annotated[FillStep, Tag("FillStep")],
        Annotated[UntilStep, Tag("UntilStep")],
        Annotated[MixStep, Tag("MixStep")],
    ],
    Discriminator(_step_kind),
    BeforeValidator(_known_op),
]


def _thread_step_kind(value: object) -> str:
    any_of = "any" in value if isinstance(value, dict) else isinstance(value, AnyStep)
    return AnyStep.__name__ if any_of else _step_kind(value)


def _thread_step(value: object) -> object:
    kind = _thread_step_kind(value)
    if kind not in (*THREAD_STEPS, AnyStep.__name__):
        op = value.get("op") if isinstance(value, dict) else getattr(value, "op", None)
        raise ValueError(f"'{op}' is no step of a thread; there are {', '.join((*get_args(KeyOp), 'maintain'))}")
    return value


#: Steps that do the same whatever other threads have done: a `fill` or a `mix` is drawn by the contents of the table.
THREAD_STEPS = (KeyStep.__name__, MaintainStep.__name__)
Operation = Annotated[
    Annotated[KeyStep, Tag("KeyStep")] | Annotated[MaintainStep, Tag("MaintainStep")],
    Discriminator(_thread_step_kind),
    BeforeValidator(_thread_step),
]


def operations_of(step: object) -> int:
    if not isinstance(step, KeyStep):
        return 1
    return len(step.keys or range(step.first or 0, (step.last or 0) + 1))


class AnyStep(Strict):
    """A choice of operations: each is run, with all that can go before and after it."""

    any: list[Operation] = Field(min_length=1, max_length=MOST_ALTERNATIVES)

    @model_validator(mode="after")
    def _one_operation_each(self) -> "AnyStep":
        for step in self.any:
            if isinstance(step, KeyStep) and operations_of(step) != 1:
                raise ValueError(f"an alternative of 'any' is one operation, of one key; '{step.op}' has several")
        return self


ThreadStep = Annotated[
    Annotated[KeyStep, Tag("KeyStep")]
    | Annotated[MaintainStep, Tag("MaintainStep")]
    | Annotated[AnyStep, Tag("AnyStep")],
    Discriminator(_thread_step_kind),
    BeforeValidator(_thread_step),
]


def _not_empty(steps: list[ThreadStep]) -> list[ThreadStep]:
    if not steps:
        raise ValueError("it has no steps; write one, or leave the thread out")
    return steps


#: Operations of one thread, in order.
Thread = Annotated[list[ThreadStep], AfterValidator(_not_empty)]
