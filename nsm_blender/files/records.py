# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain data from outside as the dataclass that declares it: types, ranges and sizes are checked by its fields.

A field says what it may be by its type and by what is annotated to it:

    place: Annotated[list[float], Sizes(3), Within(-FARTHEST_PLACE, FARTHEST_PLACE, "m")]

Numbers must be finite and, unless `Within` says otherwise, no larger than ABSURD. Every refusal names the source and
the field: "shot.json: goals[3].speed is 'fast', a number is needed."
"""

from __future__ import annotations

import dataclasses
import math
import types
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from numbers import Integral, Real
from typing import Annotated, Any, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from ..errors import FileFormatError, UserError

Record = TypeVar("Record")

ABSURD = 1e6
"""Size beyond which a number without declared limits is taken for a mistake: more than any of ours in meters, seconds,
degrees or frames."""
LONGEST_NAME = 10_000
"""Characters of a text beyond which it is taken for damage: the longest of ours, a model card's remark, has 600."""
_SHOWN = 40
"""Characters of a wrong value that a message shows."""


@dataclass(frozen=True)
class Within:
    """Numbers from `low` to `high`, both allowed; `unit` is for the message."""

    low: float
    high: float
    unit: str = ""


@dataclass(frozen=True)
class Count:
    """At least and at most so many entries of a list."""

    least: int
    most: int


@dataclass(frozen=True, init=False)
class Sizes:
    """Exactly one of these numbers of entries of a list."""

    allowed: tuple[int, ...]

    def __init__(self, *allowed: int) -> None:
        object.__setattr__(self, "allowed", allowed)


@dataclass(frozen=True)
class OneOf:
    """A text that is one of these."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Key:
    """The entry of the data that a field is read from, where its name cannot be the field's."""

    name: str


@dataclass(frozen=True)
class NotZero:
    """A direction: a list of numbers that are not all zero."""


@dataclass(frozen=True)
class Where:
    """A place in data from outside. source: the file. field: as "goals[3].speed". error: what a refusal raises."""

    source: str
    error: type[UserError] = FileFormatError
    field: str = ""

    def at(self, key: str | int) -> Where:
        """The place of an entry: a field by name, an item of a list by number."""
        name = f"[{key}]" if isinstance(key, int) else f".{key}" if self.field else key
        return dataclasses.replace(self, field=self.field + name)

    def refuse(self, problem: str) -> NoReturn:
        """Raise the error: the source, the field and what is wrong with it."""
        raise self.error(f"{self.source}: {f'{self.field} {problem}' if self.field else f'it {problem}'}.")

    def wrong(self, value: object, needed: str) -> NoReturn:
        """Raise the error for a value in whose place something else is needed."""
        self.refuse(f"is {shown(value)}, {needed} is needed")


def shown(value: object) -> str:
    """A wrong value in a few characters."""
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value.item()
    if isinstance(value, list | tuple | np.ndarray):
        return f"a list of {len(value)}"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > ABSURD**3:
        return "a number of many digits"
    text = repr(value if not isinstance(value, np.generic) else value.item())
    return text if len(text) <= _SHOWN else text[: _SHOWN - 4] + " ..."


def record(kind: type[Record], data: object, where: Where, *, more: bool = False) -> Record:
    """An instance of the dataclass `kind` from plain data, or the instance itself when its fields hold what they
    declare. more: whether the data may hold entries that no field declares, which are passed over.

    Raises the place's error for a value of another type, out of its range, too many or too few, for a field that is
    missing and for an entry that no field declares.
    """
    declared = cast(Hashable, kind)
    hints = _hints(declared)
    if isinstance(data, kind):
        for key, (name, hint) in hints.items():
            _value(hint, getattr(data, name), where.at(key))
        return data
    if not isinstance(data, Mapping):
        where.wrong(data, "an object")
    unknown = [name for name in data if name not in hints]
    if unknown and not more:
        where.at(str(unknown[0])[:_SHOWN]).refuse("means nothing here")
    missing = [name for name in _needed(declared) if name not in data]
    if missing:
        where.at(missing[0]).refuse("is missing")
    known = {key: (*hints[key], value) for key, value in data.items() if key in hints}
    return kind(**{name: _value(hint, value, where.at(key)) for key, (name, hint, value) in known.items()})


@cache
def _hints(kind: Hashable) -> dict[str, tuple[str, Any]]:
    """By the key of the data: the name of a dataclass's field and its declared type, with what is annotated to it."""
    hints = get_type_hints(cast(type, kind), include_extras=True)
    return {_key(name, hints[name]): (name, hints[name]) for name in (f.name for f in _fields(kind))}


@cache
def _needed(kind: Hashable) -> tuple[str, ...]:
    """The keys that the data must have."""
    missing = dataclasses.MISSING
    needed = {f.name for f in _fields(kind) if f.default is missing and f.default_factory is missing}
    return tuple(key for key, (name, _) in _hints(kind).items() if name in needed)


def _fields(kind: Any) -> list[dataclasses.Field[Any]]:
    return [field for field in dataclasses.fields(kind) if field.init]


def _key(name: str, hint: Any) -> str:
    named = [part.name for part in getattr(hint, "__metadata__", ()) if isinstance(part, Key)]
    return named[0] if named else name


def _value(hint: Any, value: Any, where: Where) -> Any:
    """A value that is what `hint` declares."""
    limits: tuple[Any, ...] = ()
    if get_origin(hint) is Annotated:
        hint, *rest = get_args(hint)
        limits = tuple(rest)
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        choices = get_args(hint)
        if value is None and type(None) in choices:
            return None
        (hint,) = (choice for choice in choices if choice is not type(None))
        return _value(Annotated[(hint, *limits)] if limits else hint, value, where)
    if hint is Any:
        return value
    if hint in (float, int):
        return _number(hint, value, limits, where)
    if hint is bool:
        if not isinstance(value, bool | np.bool_):
            where.wrong(value, "true or false")
        return value
    if hint is str:
        return _text(value, limits, where)
    if origin in (list, Sequence):
        return _list(get_args(hint)[0], value, limits, where)
    if origin is dict or hint is dict:
        if not isinstance(value, dict):
            where.wrong(value, "an object")
        return value
    if hasattr(hint, "from_data"):
        return value if isinstance(value, hint) else hint.from_data(value, where)
    return record(hint, value, where)


def _number(kind: type, value: Any, limits: tuple[Any, ...], where: Where) -> Any:
    whole = kind is int
    if isinstance(value, bool) or not isinstance(value, Integral if whole else Real):
        where.wrong(value, "a whole number" if whole else "a number")
    within = next((limit for limit in limits if isinstance(limit, Within)), Within(-ABSURD, ABSURD))
    if not within.low <= cast(float, value) <= within.high:  # not so for NaN
        where.wrong(value, _range(within))
    return value


def _range(within: Within) -> str:
    unit = f" {within.unit}" if within.unit else ""
    return f"a number from {within.low:g} to {within.high:g}{unit}"


def _text(value: Any, limits: tuple[Any, ...], where: Where) -> str:
    if not isinstance(value, str):
        where.wrong(value, "a text")
    if len(value) > LONGEST_NAME:
        where.refuse(f"has {len(value):,} characters; {LONGEST_NAME:,} are the most")
    for limit in limits:
        if isinstance(limit, OneOf) and value not in limit.names:
            where.wrong(value, f"one of {', '.join(limit.names)}")
    return value


def _list(item: Any, value: Any, limits: tuple[Any, ...], where: Where) -> Any:
    if not isinstance(value, list | tuple | np.ndarray) or (isinstance(value, np.ndarray) and not value.ndim):
        where.wrong(value, "a list")
    for limit in limits:
        if isinstance(limit, Sizes) and len(value) not in limit.allowed:
            sizes = " or ".join(str(size) for size in limit.allowed)
            where.refuse(f"has {len(value):,} entries, {sizes} are needed")
        if isinstance(limit, Count) and not limit.least <= len(value) <= limit.most:
            bound = f"at least {limit.least:,}" if len(value) < limit.least else f"at most {limit.most:,}"
            where.refuse(f"has {len(value):,} entries, {bound} are needed")
    inner = [limit for limit in limits if isinstance(limit, Within | OneOf)]
    if item is float:
        _numbers(value, inner, where)
    elif get_origin(item) is Annotated and get_args(item)[0] is float:
        _numbers(value, [limit for limit in get_args(item)[1:] if isinstance(limit, Within)], where)
    elif _rows_fit(item, value):
        pass
    elif item is str and all(type(entry) is str for entry in value):
        # Distinct texts only: a list of gaits has a hundred thousand entries and four texts.
        for entry in set(value):
            number = list(value).index(entry)
            _text(entry, tuple(inner), where.at(number))
    else:
        declared = Annotated[(item, *inner)] if inner else item
        value = [_value(declared, entry, where.at(number)) for number, entry in enumerate(value)]
    if any(isinstance(limit, NotZero) for limit in limits) and not np.any(np.abs(np.asarray(value, dtype=float)) > 0):
        where.refuse("is no direction, as all its numbers are 0")
    return value


def _rows_fit(item: Any, value: Any) -> bool:
    """Whether a list holds nothing but rows of numbers as `item` declares them, found out at once: a shot has a hundred
    thousand of them. False where they are to be looked at by themselves."""
    limits = get_args(item)[1:] if get_origin(item) is Annotated else ()
    sizes = next((limit.allowed for limit in limits if isinstance(limit, Sizes)), None)
    if sizes is None or any(isinstance(limit, NotZero) for limit in limits):
        return False
    (kind,) = get_args(get_args(item)[0]) or (None,)
    if get_origin(kind) is Annotated:
        kind, *own = get_args(kind)
        limits = tuple(own)
    if kind not in (float, int) or set(map(type, value)) != {list} or not set(map(len, value)) <= set(sizes):
        return False
    flat = list(chain.from_iterable(value))
    if not set(map(type, flat)) <= ({int, float} if kind is float else {int}):
        return False
    within = next((limit for limit in limits if isinstance(limit, Within)), Within(-ABSURD, ABSURD))
    return bool(flat) and within.low <= min(flat) and max(flat) <= within.high and not any(map(math.isnan, flat))


def _numbers(value: Any, limits: list[Any], where: Where) -> None:
    """Check a list of numbers at once; the slow way is gone only to name the first wrong number."""
    within = next((limit for limit in limits if isinstance(limit, Within)), Within(-ABSURD, ABSURD))
    if isinstance(value, np.ndarray) or set(map(type, value)) <= {int, float}:
        try:
            numbers = np.asarray(value, dtype=float)
        except (TypeError, ValueError, OverflowError):
            numbers = np.full(1, np.nan)
        if numbers.ndim == 1 and bool(((numbers >= within.low) & (numbers <= within.high)).all()):
            return
    for number, entry in enumerate(value):
        _number(float, entry, (within,), where.at(number))
