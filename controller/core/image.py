"""The rules' state as JSON: what a restart begins from when a session is long, in place of all its records.

It is made between hands only, so there is no closed card and no seed in it. It says nothing that the records do not
say: it is a shortcut, and whoever has lost it reads the records.
"""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

from controller.core.rules.ultimate.state import Coup
from controller.core.setup import Setup
from controller.core.state import Hand, State

Json = Any
IN_HAND = (Hand, Coup)
"""What there is only while a hand is played."""


class _Codec(NamedTuple):
    """How a value of one type becomes JSON, and comes back."""

    write: Callable[[Any], Json]
    read: Callable[[Json], Any]


def of(state: State) -> Json:
    """The state as JSON. Raises ``ValueError`` while a hand is played: its cards are nobody's to keep in clear."""
    if state.play is not None:
        raise ValueError(f"hand {state.play.id} is being played; keep the state between hands")
    return _codec(State).write(state)


def state_of(image: Json) -> State:
    """The state that an image was made of. Raises ``ValueError`` for what is none of this program's images."""
    try:
        made = _codec(State).read(image)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an image of this program ({type(error).__name__}); read the records") from error
    assert isinstance(made, State)
    return made


def form(setup: Setup) -> str:
    """What this program makes of records, as a hash: an image of another form, or another program's, is not read."""
    told = [_shape(State, set()), dict(setup.software)]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


@cache
def _codec(kind: Any) -> _Codec:
    """Raises ``TypeError`` for a type that no image holds."""
    origin, args = get_origin(kind), get_args(kind)
    if kind in (str, int, bool) or origin is Literal:
        return _Codec(_same, _same)
    if is_dataclass(kind):
        return _object(kind)
    if origin in (Union, UnionType):
        (inner,) = [one for one in args if one is not NoneType]
        return _perhaps(inner)
    if origin is tuple:
        return _pairs(args)
    if origin in (list, set):
        return _many(origin, args[0])
    if origin is not None and issubclass(origin, Mapping):
        return _map(*args)
    raise TypeError(f"a state holds {kind}, which no image can; give it a type that can be kept")


def _same(value: Any) -> Any:
    return value


def _object(kind: Any) -> _Codec:
    inner = {name: _codec(hint) for name, hint in get_type_hints(kind).items()}
    return _Codec(
        lambda value: {name: one.write(getattr(value, name)) for name, one in inner.items()},
        lambda held: kind(**{name: one.read(held[name]) for name, one in inner.items()}),
    )


def _perhaps(kind: Any) -> _Codec:
    if kind in IN_HAND:
        return _Codec(lambda _: None, lambda _: None)
    inner = _codec(kind)
    return _Codec(
        lambda value: None if value is None else inner.write(value),
        lambda held: None if held is None else inner.read(held),
    )


def _pairs(args: tuple[Any, ...]) -> _Codec:
    if args[-1] is Ellipsis:
        return _many(tuple, args[0])
    inner = [_codec(one) for one in args]
    return _Codec(
        lambda value: [one.write(each) for one, each in zip(inner, value, strict=True)],
        lambda held: tuple(one.read(each) for one, each in zip(inner, held, strict=True)),
    )


def _many(make: Callable[..., Any], kind: Any) -> _Codec:
    inner = _codec(kind)
    order: Callable[..., Any] = sorted if make is set else list
    return _Codec(
        lambda value: [inner.write(each) for each in order(value)],
        lambda held: make(inner.read(each) for each in held),
    )


def _map(_key: Any, kind: Any) -> _Codec:
    if kind is Any:
        return _Codec(_same, _same)  # data of records: it is JSON already
    inner = _codec(kind)
    # Pairs: JSON has no whole numbers as keys.
    return _Codec(
        lambda value: [[name, inner.write(each)] for name, each in value.items()],
        lambda held: {name: inner.read(each) for name, each in held},
    )


def _shape(kind: Any, seen: set[Any]) -> Json:
    if kind in seen or not (is_dataclass(kind) or get_args(kind)):
        return str(kind)
    if not is_dataclass(kind):
        return [str(kind), [_shape(one, seen) for one in get_args(kind)]]
    seen.add(kind)
    return [str(kind), {name: _shape(hint, seen) for name, hint in get_type_hints(kind).items()}]
