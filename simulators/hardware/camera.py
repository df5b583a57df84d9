"""Our smart camera, from its own side of the wire: docs/camera-protocol.md."""

from dataclasses import replace

from drivers import camera
from drivers.camera import Condition, Frame, Hello, Kind, Sight
from drivers.options import MS

REPEAT = 1000 * MS
WINDOW = 32
"""Unconfirmed sightings on the wire at once."""
MEMORY = 256
"""Sightings it keeps. What it sees beyond that is lost until there is room: then it tells the whole scene anew."""


class SmartCamera:
    """The camera with the cards in its view. What it keeps does not outlive power; the count of power-ups does."""

    def __init__(self, serial: str = "CAM-0001", *, model: str = "FC-1", firmware: str = "1.0.0") -> None:
        self._who = (model, serial, firmware)
        self._framer = camera.framer()
        self._boot = 1
        self._scene: dict[int, Sight] = {}
        self._objects = 0
        self._sequence = 0
        self._kept: dict[int, Frame] = {}
        self._sent: dict[int, int] = {}
        self._repeated: set[int] = set()
        self._unread: frozenset[int] = frozenset()
        self._on = False
        self._conditions: set[Condition] = set()
        self._missed = False
        self._told: list[Frame] = []

    # -- what happens on the felt -----------------------------------------------------------------------

    def lay(self, region: int, card: str | None, *, up: bool = True, confidence: int = 99) -> int:
        """A card comes into a region: its object number. ``card`` ``None`` where the camera can not tell."""
        self._objects += 1
        self._scene[self._objects] = Sight(region, self._objects, card, confidence, up)
        self._tell(self._scene[self._objects])
        return self._objects

    def turn(self, number: int, card: str | None = None, *, confidence: int = 99) -> None:
        """A card is turned over; ``card`` is what its face shows when it is up now."""
        before = self._scene[number]
        self._scene[number] = replace(before, up=not before.up, card=card or before.card, confidence=confidence)
        self._tell(self._scene[number])

    def lift(self, number: int) -> None:
        """A card leaves the view. Raises ``KeyError`` for one that is not there."""
        self._tell(replace(self._scene.pop(number), present=False))

    def scene(self) -> dict[int, Sight]:
        """What lies in view, by object number."""
        return dict(self._scene)

    def condition(self, condition: Condition, raised: bool = True) -> None:
        """A trouble of the view begins or ends."""
        if raised is (condition in self._conditions):
            return
        (self._conditions.add if raised else self._conditions.discard)(condition)
        if self._on:
            self._told.append(Frame(Kind.STATUS, bytes((condition, raised))))

    def reset(self) -> None:
        """The firmware restarts by itself, and greets."""
        self._restart()
        self._told.append(self._hello())

    def unconfirmed(self) -> int:
        """Sightings that it still keeps."""
        return len(self._kept)

    # -- the wire ---------------------------------------------------------------------------------------

    def feed(self, data: bytes, now: int) -> list[bytes]:
        """Orders from the host: the answers, then whatever is due."""
        answers = [answer for frame in self._framer.feed(data) for answer in self._obey(frame)]
        return [frame.encode() for frame in answers] + self.poll(now)

    def poll(self, now: int) -> list[bytes]:
        """Sightings not sent yet, those not confirmed in time, and status changes."""
        out: list[Frame] = []
        for sequence in list(self._kept)[:WINDOW] if self._on else ():
            if sequence not in self._sent or now >= self._sent[sequence] + REPEAT:
                flags = camera.REPEATED if sequence in self._repeated else 0
                out.append(replace(self._kept[sequence], flags=flags))
                self._sent[sequence] = now
                self._repeated.add(sequence)
        out += self._told
        self._told.clear()
        return [frame.encode() for frame in out]

    def deadline(self) -> int | None:
        """When the next repetition is due."""
        waiting = [self._sent[sequence] for sequence in list(self._kept)[:WINDOW] if sequence in self._sent]
        return min(waiting) + REPEAT if self._on and waiting else None

    def power_cycle(self, now: int) -> None:
        """Off and on: what it kept is gone."""
        del now
        self._restart()

    def _restart(self) -> None:
        self._boot += 1
        self._on = False
        self._sequence = 0
        for kept in (self._kept, self._sent, self._told):
            kept.clear()
        self._repeated.clear()
        self._conditions.discard(Condition.FULL)
        self._missed = False
        self._framer.reset()

    def _hello(self) -> Frame:
        bits = sum(condition.bit for condition in self._conditions)
        return Frame(
            Kind.HELLO, Hello(self._boot, min(self._kept, default=self._sequence + 1), bits, *self._who).encode()
        )

    def _tell(self, seen: Sight) -> None:
        if len(self._kept) >= MEMORY:
            self._missed = True
            self.condition(Condition.FULL)
            return
        self._sequence += 1
        self._kept[self._sequence] = Frame(Kind.SIGHT, self._allowed(seen).encode(), self._sequence)

    def _allowed(self, seen: Sight) -> Sight:
        if seen.region not in self._unread:
            return seen
        return replace(seen, card=None, confidence=100, withheld=True)

    def _tell_scene(self) -> None:
        for seen in self._scene.values():
            self._tell(replace(seen, standing=True))

    def _obey(self, frame: Frame) -> list[Frame]:
        match frame.kind:
            case Kind.START if frame.version == camera.VERSION:
                self._unread = frozenset(frame.payload)
                self._on = True
                self._sent.clear()
                for sequence, kept in self._kept.items():
                    self._kept[sequence] = replace(kept, payload=self._allowed(Sight.decode(kept.payload)).encode())
                greeting = self._hello()
                self._tell_scene()
                return [greeting]
            case Kind.ACK:
                for sequence in [sequence for sequence in self._kept if sequence <= frame.sequence]:
                    del self._kept[sequence]
                    self._sent.pop(sequence, None)
                if self._missed and len(self._kept) < MEMORY // 2:
                    self._missed = False
                    self.condition(Condition.FULL, raised=False)
                    self._tell_scene()
            case Kind.RESEND:
                for sequence in [sequence for sequence in self._sent if sequence >= frame.sequence]:
                    del self._sent[sequence]
            case Kind.PING:
                return [Frame(Kind.PONG, bytes((sum(condition.bit for condition in self._conditions),)))]
            case Kind.STOP:
                self._on = False
            case _:
                pass
        return []
