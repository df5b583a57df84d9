"""The shipped profiles as houses for tests of play: no rake, any stack, nothing to attest."""

from typing import Any

from controller.configuration import profiles
from controller.core.rules.profile import Profile

FREE: dict[str, Any] = {"rake.rate": "0%", "buy_in_min_bb": "none", "buy_in_max_bb": "none", "requires": []}


def house(name: str, **more: Any) -> Profile:
    """The shipped profile ``name``; ``more`` overrides its keys, with ``__`` for a dot."""
    return profiles.load(name, override=FREE | {key.replace("__", "."): value for key, value in more.items()})
