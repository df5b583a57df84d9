"""Birth and death: the retained messages that say whether a table is there."""

import json
from typing import Literal

from controller.contract.topics import MAJOR, STREAMS, Source

State = Literal["init", "ready", "disconnected", "lost"]


def state_body(state: State, session: int, ledger: str) -> bytes:
    """The payload of the ``state`` topic.

    ``session`` numbers the connections of one ledger: a ``lost`` with a smaller number than the ``ready`` last
    seen is the will of a connection that has been replaced.
    """
    return _bytes({"state": state, "session": session, "ledger": ledger})


def description_body(source: Source, ledger: str, *, test: bool, software: str) -> bytes:
    """The payload of the ``description`` topic: who speaks, and by which contract."""
    return _bytes(
        {
            "contract": MAJOR,
            "site": source.site,
            "table": source.table,
            "ledger": ledger,
            "streams": list(STREAMS),
            "test": test,
            "software": software,
        }
    )


def _bytes(value: dict[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
