"""What lies in one field: the debounced contents of a place. Noise is not absence."""

from dataclasses import dataclass


@dataclass(slots=True)
class Presence:
    """The tags of one place. ``settled`` is ``None`` until a complete inventory has stood for the debounce time."""

    debounce_ns: int
    settled: frozenset[str] | None = None
    candidate: frozenset[str] | None = None
    since: int = 0

    def seen(self, tags: frozenset[str], complete: bool, at: int) -> None:
        """An inventory. From an incomplete one only arrivals count: what it does not show may still be there."""
        if not complete:
            known = self.candidate if self.candidate is not None else self.settled
            if known is None:
                return
            tags = tags | known
        if tags != self.candidate:
            self.candidate, self.since = tags, at

    def deadline(self) -> int | None:
        """When the candidate will have stood long enough."""
        if self.candidate is None or self.candidate == self.settled:
            return None
        return self.since + self.debounce_ns

    def tick(self, at: int) -> bool:
        """Let time pass. True when the contents have settled to something new."""
        due = self.deadline()
        if due is None or at < due:
            return False
        self.settled = self.candidate
        return True

    def unknown(self) -> None:
        """The reader is gone or reset: nothing is known until it has read the whole field again."""
        self.settled = self.candidate = None
