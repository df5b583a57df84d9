"""What is retained: whether a table is there, who speaks, and how the table stands. Nobody needs it: all of it follows
from the events.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal

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


def snapshot_body(ledger: str, sequence: int, *, test: bool, picture: Mapping[str, Any]) -> bytes:
    """The payload of the ``snapshot`` topic: ``picture`` is true up to this event of ``play`` (0 for none).

    Whoever begins with it goes on with the events behind it. It holds nothing that ``play`` has not said.
    """
    return _bytes({"ledger": ledger, "sequence": f"{sequence:016d}", "test": test, **picture})


def _bytes(value: dict[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
