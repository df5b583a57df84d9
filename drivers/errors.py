"""What can go wrong with a device.

Three kinds, kept apart because they ask for different answers: trouble of the link (back off and try
again), a peer that breaks its protocol (count, resynchronise, start over) and a mistake of ours (tell the
person who wrote the configuration; trying again is of no use).
"""

from collections.abc import Iterable


class DeviceError(Exception):
    """Root of all that drivers raise."""


class LinkError(DeviceError):
    """The way to the device failed. Passing trouble: the supervisor backs off and opens again.

    ``cause`` is the word that ``DeviceLost`` uses for it.
    """

    cause = "unplugged"


class LinkTimeout(LinkError):
    """Nothing came, or nothing could be sent, within the time allowed. The link may still be good."""

    cause = "timeout"


class LinkLost(LinkError):
    """The link was open and is gone: unplugged, closed by the peer, or the adapter vanished."""


class LinkRefused(LinkError):
    """The link cannot be opened: missing, held by another process, or not permitted."""

    cause = "refused"


class LinkMissing(LinkRefused):
    """Nothing is where the device should be: not plugged in, not powered, or under another name."""

    cause = "missing"


class ProtocolError(DeviceError):
    """The peer sent what its protocol does not allow. The message never holds frame bytes."""


class ChecksumError(ProtocolError):
    """A whole frame came and its checksum is wrong."""


class LocalError(DeviceError):
    """A mistake on our side: a driver asked for what it cannot do."""


class ConfigError(LocalError):
    """An option of a device is wrong. The message names the option, its value and the remedy.

    ``also`` holds the further faults found in the same pass, so that a person can mend all of them at once.
    """

    def __init__(self, name: str, value: object, remedy: str, also: "tuple[ConfigError, ...]" = ()) -> None:
        super().__init__(f"{name} = {value!r}: {remedy}")
        self.name = name
        self.value = value
        self.remedy = remedy
        self.also = also


class UnknownDriver(ConfigError):
    """A configuration names a driver that does not exist."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__("driver", name, f"use one of {', '.join(sorted(known))}")
