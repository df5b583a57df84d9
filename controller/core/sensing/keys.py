"""The dealer's keypad: the grammar of ``docs/keypad.md`` as a small machine. Keys in, facts out."""

from dataclasses import dataclass, field

from controller.core.facts import (
    Called,
    Declared,
    Evidence,
    Fact,
    Finished,
    HandAttested,
    Kind,
    Refused,
    Shown,
    Undone,
)
from controller.core.setup import Timing

MS = 1_000_000
AT_ONCE: dict[str, Kind] = {"FOLD": "fold", "CHECK": "check", "CALL": "call"}
WITH_AMOUNT: dict[str, Kind] = {"BET": "bet", "RAISE": "raise", "ALLIN": "all_in"}
KNOWN = (*AT_ONCE, *WITH_AMOUNT, "ENTER", "CLEAR", "SHOW", "HAND", "DONE", "MISDEAL", "VOID")
MOST_DIGITS = 9
MOST_SEAT_DIGITS = 2


@dataclass(slots=True)
class Keys:
    """One keypad's half-typed entry. ``unit`` is the table unit in minor units, ``seats`` the highest seat."""

    unit: int
    seats: int
    timing: Timing
    seat: str = ""
    verb: str = ""
    amount: str = ""
    armed: str = ""
    spoiled: str = ""
    """Why what was typed last came to nothing: the next entry is refused once, so that no seat is ever guessed."""
    entered_at: int = 0
    armed_at: int = 0
    held: dict[str, int] = field(default_factory=dict)
    sources: tuple[Evidence, ...] = ()

    @property
    def typing(self) -> bool:
        """Whether an entry is half typed."""
        return bool(self.seat or self.verb or self.amount)

    def deadline(self) -> int | None:
        """When time alone changes something: an entry lapses, a confirmation lapses, a key has been held."""
        times = [at + self.timing.undo_hold_ms * MS for at in self.held.values()]
        if self.typing:
            times.append(self.entered_at + self.timing.entry_timeout_ms * MS)
        if self.armed:
            times.append(self.armed_at + self.timing.confirm_ms * MS)
        return min(times, default=None)

    def tick(self, at: int) -> list[Fact]:
        """Let time pass: lapse what is old, undo what is held."""
        facts: list[Fact] = []
        if self.held and any(at - since >= self.timing.undo_hold_ms * MS for since in self.held.values()):
            self.held.clear()  # one hold is one undo, however many keys are down
            facts += self._undo()
        if self.typing and at - self.entered_at >= self.timing.entry_timeout_ms * MS:
            self.clear()
            self.spoiled = "the entry before took too long; key it again"
        if self.armed and at - self.armed_at >= self.timing.confirm_ms * MS:
            self.armed = ""
        return facts

    def _undo(self) -> list[Fact]:
        if self.typing or self.armed:
            self.clear()
            return []
        return [Undone(evidence=self.sources)]

    def clear(self) -> None:
        """Forget the half-typed entry."""
        self.seat = self.verb = self.amount = self.armed = self.spoiled = ""

    def lost(self) -> None:
        """The keypad is gone: no key is held, nothing is half typed."""
        self.held.clear()
        self.clear()

    def released(self, key: str) -> None:
        """A key came up."""
        self.held.pop(key, None)

    def pressed(self, key: str, at: int, source: Evidence) -> list[Fact]:
        """A key went down: the facts that are complete with it."""
        if key != "CLEAR" or not self.typing:  # a CLEAR that clears has done its work: holding it undoes no more
            self.held[key] = at
        self.sources = (source,) if not self.typing else (*self.sources[-7:], source)
        if key not in ("MISDEAL", "VOID"):
            self.armed = ""
        if len(key) == 1 and key in "0123456789":
            self._digit(key, at)
            return []
        if key in WITH_AMOUNT:
            return self._verb(key, at)
        if key not in KNOWN:
            spoils = self.typing
            facts = self._refuse("this key means nothing here; check the keymap", tried=key)
            self.spoiled = "a strange key came into the entry before; key it again" if spoils else ""
            return facts
        facts = self._commit(key, at)
        if key not in ("MISDEAL", "VOID"):
            self.clear()
        return facts

    def _digit(self, key: str, at: int) -> None:
        """Digits are kept as typed, one more than can be meant: what is too long is refused whole, never cut."""
        self.entered_at = at
        if self.verb:
            self.amount = (self.amount + key)[: MOST_DIGITS + 1]
        else:
            self.seat = (self.seat + key)[: MOST_SEAT_DIGITS + 1]

    def _verb(self, key: str, at: int) -> list[Fact]:
        if self.verb:
            return self._refuse(f"{self.verb} was not finished; key it again")
        self.verb, self.entered_at = key, at
        return []

    def _commit(self, key: str, at: int) -> list[Fact]:
        if key == "CLEAR":
            return []
        if self.spoiled:
            return self._refuse(self.spoiled, tried=key)
        if key == "ENTER":
            return self._enter()
        if self.verb:
            return self._refuse(f"{self.verb} was not finished; key it again")
        if key in AT_ONCE:
            seat, problem = self._seat()
            return problem or [Declared(AT_ONCE[key], seat, evidence=self.sources)]
        if key == "SHOW":
            seat, problem = self._seat()
            return problem or [Shown(seat, evidence=self.sources)]
        return self._whole_table(key, at)

    def _whole_table(self, key: str, at: int) -> list[Fact]:
        if self.seat:
            return self._refuse(f"{key} takes no seat", tried=key)
        if key == "HAND":
            return [HandAttested(evidence=self.sources)]
        if key == "DONE":
            return [Finished(evidence=self.sources)]
        if self.armed != key:
            self.armed, self.armed_at = key, at
            return []
        self.armed = ""
        return [Called("misdeal" if key == "MISDEAL" else "void", evidence=self.sources)]

    def _enter(self) -> list[Fact]:
        if not self.verb:
            return self._refuse("nothing to enter", tried="ENTER")
        seat, problem = self._seat()
        if problem:
            return problem
        if not self.amount and self.verb != "ALLIN":
            return self._refuse(f"{self.verb} needs an amount: the total for the round in table units")
        if len(self.amount) > MOST_DIGITS:
            return self._refuse(f"an amount has at most {MOST_DIGITS} digits")
        to = int(self.amount) * self.unit if self.amount else None
        return [Declared(WITH_AMOUNT[self.verb], seat, to, evidence=self.sources)]

    def _seat(self) -> tuple[int | None, list[Fact]]:
        if not self.seat:
            return None, []
        seat = int(self.seat)
        if not 1 <= seat <= self.seats:
            return None, self._refuse(f"seats are 1 to {self.seats}")
        return seat, []

    def _refuse(self, why: str, tried: str = "") -> list[Fact]:
        words = " ".join(word for word in (self.seat, self.verb, self.amount, tried) if word)
        seat = int(self.seat) if self.seat and 1 <= int(self.seat) <= self.seats else None
        self.clear()
        return [Refused(words, why, seat, evidence=self.sources)]
