"""A USB boot keyboard under a dealer's fingers, from its own side of the wire."""

from collections import deque
from collections.abc import Mapping

from drivers.keypad import default_keymap, encode_report


class Keypad:
    """Keys that go down and come up; every change is one report."""

    def __init__(self, keymap: Mapping[int, str] | None = None) -> None:
        self._usages: dict[str, int] = {}
        for usage, key in (keymap if keymap is not None else default_keymap()).items():
            self._usages.setdefault(key, usage)
        self._down: list[int] = []
        self._reports: deque[bytes] = deque(maxlen=256)

    def press(self, key: str) -> None:
        """A key goes down. ``key`` is its legend, or a usage as ``"0x3a"`` for a key without one."""
        usage = self._usage(key)
        if usage not in self._down:
            self._down.append(usage)
            self._tell()

    def release(self, key: str) -> None:
        """A key comes up."""
        usage = self._usage(key)
        if usage in self._down:
            self._down.remove(usage)
            self._tell()

    def tap(self, *keys: str) -> None:
        """Press and release each key in turn."""
        for key in keys:
            self.press(key)
            self.release(key)

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """A host may set the lamps; these keypads have none."""
        del data, now
        return []

    def poll(self, now: int) -> list[bytes]:
        """The reports since the last call, one transfer each."""
        del now
        reports = list(self._reports)
        self._reports.clear()
        return reports

    def deadline(self) -> int | None:
        """A keyboard speaks when a key moves, never by time."""
        return None

    def power_cycle(self, now: int) -> None:
        """Reports not fetched are gone; a key still held is reported with the next change."""
        del now
        self._reports.clear()

    def _usage(self, key: str) -> int:
        return int(key, 16) if key.startswith("0x") else self._usages[key]

    def _tell(self) -> None:
        self._reports.append(encode_report(tuple(self._down)))
