"""Where a table's events are published, and how a table is named."""

import re
from dataclasses import dataclass
from typing import Literal

from controller.contract.errors import ContractError

Stream = Literal["play", "cash", "ops", "guard"]
STREAMS: tuple[Stream, ...] = ("play", "cash", "ops", "guard")
MAJOR = "v1"

_NAME = re.compile(r"[a-z0-9-]{1,32}")
_TYPE = re.compile(r"[a-z_]+(\.[a-z_]+)+")


@dataclass(frozen=True, slots=True)
class Source:
    """One table of one site: the first half of every event's identity.

    Raises ``ContractError`` for a name that is not 1-32 of ``a-z 0-9 -``: a dot would become a slash on its way
    through RabbitMQ, and an upper-case letter does not sort the same everywhere.
    """

    site: str
    table: str

    def __post_init__(self) -> None:
        for field, value in (("site", self.site), ("table", self.table)):
            if not _NAME.fullmatch(value):
                raise ContractError(f"{field}: {value!r}: use 1 to 32 of the characters a-z, 0-9 and -")

    def stream(self, stream: str) -> str:
        """The CloudEvents ``source`` of one stream of this table."""
        return f"/felt/{self.site}/{self.table}/{stream}"


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one table. A test table publishes under its own root, so that no live meter can hear it."""

    source: Source
    test: bool

    @property
    def base(self) -> str:
        """What all topics of the table begin with."""
        root = "felt-test" if self.test else "felt"
        return f"{root}/{MAJOR}/{self.source.site}/{self.source.table}"

    def event(self, stream: str, kind: str) -> str:
        """The topic of an event type; each dot of the type becomes a level."""
        if stream not in STREAMS:
            raise ContractError(f"stream: {stream!r}: use one of {', '.join(STREAMS)}")
        if not _TYPE.fullmatch(kind):
            raise ContractError(f"type: {kind!r}: use lower-case words joined by dots")
        return f"{self.base}/{stream}/{kind.replace('.', '/')}"

    @property
    def state(self) -> str:
        """Retained: ``init``, ``ready``, ``disconnected`` or ``lost``, with the number of the connection."""
        return f"{self.base}/state"

    @property
    def description(self) -> str:
        """Retained: which ledger and which contract the table speaks."""
        return f"{self.base}/description"

    @property
    def snapshot(self) -> str:
        """Retained: the table as it is, for who may read ``play``; it says up to which event it is true."""
        return f"{self.base}/snapshot"

    def command(self, name: str) -> str:
        """Where the table listens for ``replay`` and ``rebirth``."""
        return f"{self.base}/cmd/{name}"

    def reply(self, client: str) -> str:
        """What every reply topic of a client has to begin with."""
        if not _NAME.fullmatch(client):
            raise ContractError(f"client: {client!r}: use 1 to 32 of the characters a-z, 0-9 and -")
        return f"{self.base}/reply/{client}/"
