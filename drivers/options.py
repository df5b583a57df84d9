"""The options of one device, checked: every fault is found in one pass and named with its remedy."""

from collections.abc import Mapping

from drivers.errors import ConfigError

MS = 1_000_000
"""Nanoseconds in a millisecond: options are written in ``_ms``, all times inside are ns."""


class Options:
    """Reads typed options, then ``finish`` raises ``ConfigError`` for whatever was wrong or unknown."""

    def __init__(self, device: str, given: Mapping[str, object]) -> None:
        self._device = device
        self._given = given
        self._known: list[str] = []
        self._faults: list[ConfigError] = []

    def _take(self, name: str, default: object) -> object:
        self._known.append(name)
        return self._given.get(name, default)

    def fault(self, name: str, value: object, remedy: str) -> None:
        """Note one fault. ``name`` is the option below the device, for example ``keymap.0x68``."""
        self._faults.append(ConfigError(f"{self._device}.{name}", value, remedy))

    def integer(self, name: str, default: int, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``."""
        value = self._take(name, default)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            self.fault(name, value, f"give a whole number from {low} to {high}")
            return default
        return value

    def milliseconds(self, name: str, default: int, low: int = 1, high: int = 3_600_000) -> int:
        """A duration written in milliseconds, returned in nanoseconds."""
        return self.integer(name, default, low, high) * MS

    def flag(self, name: str, default: bool) -> bool:
        """``true`` or ``false``."""
        value = self._take(name, default)
        if not isinstance(value, bool):
            self.fault(name, value, "give true or false")
            return default
        return value

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of a few words."""
        value = self._take(name, default)
        if not isinstance(value, str) or value not in allowed:
            self.fault(name, value, f"use one of {', '.join(allowed)}")
            return default
        return value

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        value = self._take(name, default)
        if not isinstance(value, str):
            self.fault(name, value, "give a text in quotes")
            return default
        return value

    def numbers(self, name: str, low: int, high: int) -> tuple[int, ...]:
        """A list of different whole numbers from ``low`` to ``high``; empty where it is not given."""
        value = self._take(name, ())
        if not isinstance(value, list | tuple):
            self.fault(name, value, f"give a list of whole numbers from {low} to {high}")
            return ()
        numbers = tuple(item for item in value if isinstance(item, int) and not isinstance(item, bool))
        if (
            len(numbers) != len(value)
            or len(set(numbers)) != len(numbers)
            or any(not low <= item <= high for item in numbers)
        ):
            self.fault(name, value, f"give different whole numbers from {low} to {high}")
            return ()
        return numbers

    def table(self, name: str) -> Mapping[str, object]:
        """A table of further values; empty where it is not given."""
        value = self._take(name, {})
        if not isinstance(value, Mapping):
            self.fault(name, value, "give a table")
            return {}
        return {str(key): item for key, item in value.items()}

    def finish(self) -> None:
        """All options are read: raise for the first fault, carrying the others in ``also``."""
        for name in sorted(set(self._given) - set(self._known)):
            known = ", ".join(sorted(self._known)) or "none"
            self.fault(name, self._given[name], f"remove it or use a known option: {known}")
        if self._faults:
            first, *others = self._faults
            raise ConfigError(first.name, first.value, first.remedy, tuple(others))
