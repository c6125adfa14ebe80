"""Reads answers of the service into the dataclasses of :mod:`tollgate.api`."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from tollgate._errors import InternalError
from tollgate._moments import from_wire

__all__ = ["read", "values"]

T = TypeVar("T")


def read(kind: type[T], answer: Any) -> T:
    """Return an answer as an object. Fields that this version does not know are left out.

    Raises:
        InternalError: The answer has no field that this version needs.
    """
    return kind(**values(kind, answer))


def values(kind: type[Any], answer: Any) -> dict[str, Any]:
    """Return the values of the fields of an answer."""
    found: dict[str, Any] = {}
    for name, key, reader, is_required in _readers(kind):
        value = answer.get(key)
        if value is not None:
            found[name] = reader(value)
        elif is_required:
            raise InternalError(f"the answer of the service has no {key}: this version cannot read it")
    return found


_Readers = list[tuple[str, str, Callable[[Any], Any], bool]]
_known: dict[type[Any], _Readers] = {}


def _readers(kind: type[Any]) -> _Readers:
    if kind in _known:
        return _known[kind]
    hints = get_type_hints(kind)
    found = []
    for field in fields(kind):
        if not field.init or field.name.startswith("_"):
            continue
        is_required = field.default is MISSING and field.default_factory is MISSING
        found.append((field.name, field.name.removesuffix("_"), _reader(hints[field.name]), is_required))
    _known[kind] = found
    return found


def _reader(hint: Any) -> Callable[[Any], Any]:
    if get_origin(hint) in (Union, types.UnionType):
        return _reader(next(one for one in get_args(hint) if one is not type(None)))
    if hint is datetime:
        return from_wire
    if hint is float:
        return float
    if get_origin(hint) is tuple:
        of = _reader(get_args(hint)[0])
        return lambda items: tuple(of(item) for item in items)
    if is_dataclass(hint):
        return lambda item: read(hint, item)  # type: ignore[arg-type]
    return lambda value: value
