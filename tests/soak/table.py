"""A table that is played without end through a real daemon, however often that is killed."""

import time
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

from controller.client import NotReachable
from controller.core.cards import DECK
from simulators.errors import RigError
from simulators.rigs import Host
from tests.running import Running

STACK = 1_000_000
SEATS = (1, 2, 3, 4)
WAIT_S = 0.01


class Table:
    """Devices that outlive the daemon, and hands that press keys and slide cards as the table's state asks for."""

    def __init__(self, folder: Path, config: Path, host: Host, chance: Random) -> None:
        self.config = config
        self.folder = folder
        self.host = host
        self.daemon: Running | None = None
        self._chance = chance
        self._shoe: list[str] = []
        self.slid: dict[int, str] = {}
        """The cards that have left the shoe, by their number."""
        self.pressed: list[str] = []
        """The keys in the order in which they were pressed, whether anybody listened or not."""

        self.anew = False
        """Whether the table is to be closed and opened again when no hand is open."""

    def start(self) -> None:
        """Start the daemon, open the table and seat the players where nobody sits."""
        self.daemon = Running(self.config)
        self._open()

    def _open(self) -> None:
        assert self.daemon is not None
        if self.daemon.status["session"] is None:
            self.daemon.do("login", staff="s-01", role="manager")
            self.daemon.do("open", button=SEATS[-1])
        taken = self.daemon.status["seats"]
        for seat in SEATS:
            if str(seat) not in taken:
                # By name: where the kill before came between two seats, nobody has logged in since.
                self.daemon.do("seat", "s-01", seat=seat, stack=STACK)

    def play_until(self, deadline: float) -> None:
        """Play, as fast as the table takes it, until a moment of the monotonic clock; the daemon may die meanwhile."""
        with suppress(NotReachable, KeyError):
            while time.monotonic() < deadline:
                assert self.daemon is not None
                # In this order: what is confirmed is on record, so the status that is asked for afterwards has it.
                waiting = self.unconfirmed()
                if not self._step(self.daemon.status, waiting):
                    time.sleep(WAIT_S)

    def _step(self, status: dict[str, Any], waiting: int) -> bool:
        """One act that the table waits for; ``False`` when there was none to do."""
        assert self.daemon is not None
        hand = status["hand"]
        for incident in status["incidents"]:
            if incident["kind"] != "device_lost":
                self._rule(incident)
                return True
        if any(status["devices"].get(name) != "up" for name in ("shoe0", "keys0")):
            return False
        if hand is None and self.anew:
            self.anew = False
            self.daemon.do("close", "s-01", "soak")
            self._open()
        elif hand is None:
            self._new_deck()
            self._key("HAND")
        elif hand["phase"] in ("deal", "board") and waiting:
            return False  # the shoe still has cards of the time when nobody listened
        elif hand["phase"] == "deal":
            self._slide(2 * len(hand["live"]) - hand["cards"])
        elif hand["phase"] == "board":
            self._slide(1)
        elif hand["phase"] == "bet":
            self._act(hand)
        elif hand["phase"] == "showdown":
            self._key("SHOW")
        else:
            self._key("DONE")
        self._settle(hand)
        return True

    def unconfirmed(self) -> int:
        """How many cards the shoe has sent and nobody has acknowledged."""
        return int(self.host.do("state", "shoe0")["unconfirmed"])

    def _settle(self, before: dict[str, Any] | None) -> None:
        """Wait until the act shows, or for a moment where it shows in nothing."""
        deadline = time.monotonic() + 0.2
        assert self.daemon is not None
        while self.daemon.status["hand"] == before and time.monotonic() < deadline:
            time.sleep(WAIT_S)

    def _act(self, hand: dict[str, Any]) -> None:
        kinds = [may["kind"] for may in hand["allowed"]]
        last = len(hand["live"]) <= 2
        keys = [key for key, kind in (("CHECK", "check"), ("CALL", "call"), ("FOLD", "fold")) if kind in kinds]
        if "check" in kinds or last:
            keys = [key for key in keys if key != "FOLD"] or keys
        self._key(self._chance.choice(keys))

    def _rule(self, incident: dict[str, Any]) -> None:
        assert self.daemon is not None
        how = "void" if incident["holds"] != "none" else "proposed"
        answer = self.daemon.tell("rule", "s-01", "soak", incident=incident["incident"], ruling=how)
        if "error" in answer:
            self.daemon.tell("rule", "s-01", "soak", incident=incident["incident"], ruling="proposed")

    def _new_deck(self) -> None:
        self._shoe = list(DECK)
        self._chance.shuffle(self._shoe)
        with suppress(RigError):
            self.host.do("load", "shoe0", cards=self._shoe)

    def _slide(self, count: int) -> None:
        for _ in range(max(1, count)):
            with suppress(RigError):
                card = self.host.do("slide", "shoe0")["card"]
                if card is not None:
                    self.slid[len(self.slid) + 1] = card

    def _key(self, *keys: str) -> None:
        for key in keys:
            self.pressed.append(key)
            with suppress(RigError):
                self.host.do("press", "keys0", key=key)
                self.host.do("release", "keys0", key=key)
