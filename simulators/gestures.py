"""What hands and accidents do to a simulated device, by name: the same words on every rig."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from drivers.camera import Condition
from simulators.errors import RigError
from simulators.hardware.camera import SmartCamera
from simulators.hardware.device import Device
from simulators.hardware.eccel import PepperReader
from simulators.hardware.feig import FeigReader
from simulators.hardware.feig_buffered import FeigBufferedReader
from simulators.hardware.keypad import Keypad
from simulators.hardware.mercury import MercuryModule
from simulators.hardware.shoe import SmartShoe
from simulators.readrate import ReadRate
from simulators.recording import Recording

READERS = (FeigReader, PepperReader, MercuryModule)
FILLER = tuple(rank + suit for suit in "cdhs" for rank in "23456789TJQKA")

Args = Mapping[str, Any]
Answer = dict[str, Any]


def loaded_shoe(**given: Any) -> SmartShoe:
    """A shoe with cards in it: an empty one would say so. ``given`` is what ``SmartShoe`` takes."""
    shoe = SmartShoe(**given)
    shoe.load(FILLER)
    return shoe


def hearing(make: Callable[..., Device]) -> Callable[..., Device]:
    """A reader of that make. ``reads`` are the arguments of ``ReadRate``; without them every tag is read every time."""

    def made(*, reads: Mapping[str, Any] | None = None, **given: Any) -> Device:
        return make(hearing=None if reads is None else ReadRate(**reads), **given)

    return made


SOLD: Mapping[str, Callable[..., Device]] = MappingProxyType(
    {
        "shoe": SmartShoe,
        "keypad": Keypad,
        "feig": FeigReader,
        "feig-buffered": FeigBufferedReader,
        "eccel": PepperReader,
        "mercury": MercuryModule,
        "camera": SmartCamera,
    }
)
"""Driver name -> the device as it is sold, before a rig makes anything of it."""
MODELS: Mapping[str, Callable[..., Device]] = MappingProxyType(
    {
        "shoe": loaded_shoe,
        "keypad": Keypad,
        "feig": hearing(FeigReader),
        "eccel": hearing(PepperReader),
        "mercury": hearing(MercuryModule),
        "camera": SmartCamera,
    }
)
"""Driver name -> the simulated device."""


BY_HANDS = frozenset({"put", "take", "slide", "press", "release", "lay", "lift", "turn"})
"""What hands do to a device itself, whichever plug it hangs at; all else happens to what hangs at a plug."""
SWAP_MS = 500
"""So long both plugs are in the hand when they are exchanged."""
MOST_FIELDS = 64
MOST: Mapping[str, int] = {"confidence": 100, "object": 1 << 16, "times": 1000, "status": 0xFFFF}
NEEDED: Mapping[str, str] = {
    "load": "cards",
    "lid": "open",
    "press": "key",
    "release": "key",
    "tap": "keys",
    "put": "tags",
    "take": "tags",
    "trouble": "status",
    "lay": "channel",
    "turn": "object",
    "lift": "object",
    "condition": "name",
}
"""What an act cannot be done without."""
USAGE = re.compile(r"0x[0-9A-Fa-f]{1,2}")
TAG = re.compile(r"(?:[0-9A-Fa-f]{2}){1,32}")
SPARE: Mapping[str, Mapping[str, str]] = {
    "shoe": {"serial": "SHOE-9999"},
    "camera": {"serial": "CAM-9999"},
    "feig": {"serial": "0A1B2CFF"},
    "eccel": {"name": "PEPPER-99"},
}
"""Who another device of the same make says it is."""


def spare(driver: str, before: Device) -> Device:
    """Another device of the same make, with what lay in the fields of the one before."""
    made = MODELS[driver](**SPARE.get(driver, {}))
    if isinstance(before, READERS) and isinstance(made, READERS):
        for antenna in range(1, MOST_FIELDS + 1):
            made.put(sorted(before.field(antenna)), antenna)
    return made


def exchanged(cables: Mapping[str, str], one: str, other: str) -> dict[str, str]:
    """At which plug each device hangs, after the devices at two plugs were exchanged."""
    swap = {one: other, other: one}
    return {name: swap.get(cables.get(name, name), cables.get(name, name)) for name in {*cables, one, other}}


@dataclass(slots=True)
class Disturbance:
    """What happens to frames on their way to the host. ``corrupt`` and ``drop`` count down."""

    deaf: bool = False
    corrupt: int = 0
    drop: int = 0

    def pass_on(self, frame: bytes) -> bytes | None:
        """The frame as it arrives, or ``None`` where it does not."""
        if self.deaf:
            return None
        if self.drop:
            self.drop -= 1
            return None
        if self.corrupt and frame:
            self.corrupt -= 1
            middle = len(frame) // 2
            return frame[:middle] + bytes((frame[middle] ^ 0x10,)) + frame[middle + 1 :]
        return frame

    def perform(self, what: str, args: Args) -> bool:
        """``deaf``, ``hear``, ``corrupt`` and ``drop`` (with ``frames``). ``False`` for another word."""
        match what:
            case "deaf" | "hear":
                self.deaf = what == "deaf"
            case "corrupt":
                self.corrupt = _frames(args)
            case "drop":
                self.drop = _frames(args)
            case _:
                return False
        return True


def _frames(args: Args) -> int:
    if type(frames := args.get("frames", 1)) is not int or frames < 0:
        raise RigError(f"frames = {frames!r}: give a whole number of frames")
    return frames


def perform(device: Device, what: str, args: Args, now: int) -> Answer:
    """Do one thing to a device and tell what came of it.

    Raises ``RigError`` for a word that the device does not know, or an act that could not be done.
    """
    _sound(args)
    needed = NEEDED.get(what, "")
    if needed and needed not in args and not isinstance(device, Recording):
        raise RigError(f"{what} with {dict(args)}: {needed} is missing; correct the arguments")
    try:
        match device:
            case SmartShoe():
                return _shoe(device, what, args, now)
            case Keypad():
                return _keypad(device, what, args)
            case SmartCamera():
                return _camera(device, what, args)
            case FeigReader() | PepperReader() | MercuryModule():
                return _reader(device, what, args)
            case Recording():
                return _recording(device, what, now)
    except (KeyError, TypeError, ValueError) as fault:
        why = f"there is no {fault}" if isinstance(fault, KeyError) else str(fault)
        raise RigError(f"{what} with {dict(args)}: {why}; correct the arguments") from fault
    raise _unknown(what, "device")


def _sound(args: Args) -> None:
    """Whether what is named can be: a device that was given less would fail later, at its wire."""
    cards = args.get("cards", ())
    for card in [args.get("card"), args.get("seen"), *(cards if isinstance(cards, list | tuple) else [cards])]:
        if card is not None and card != "??" and card not in FILLER:
            raise RigError(f"card {card!r}: write rank 2-9TJQKA and suit cdhs, for instance Td, or ??")
    for name, most in MOST.items():
        if name in args and (type(args[name]) is not int or not 0 <= args[name] <= most):
            raise RigError(f"{name} = {args[name]!r}: give a whole number from 0 to {most}")
    if (channel := args.get("channel")) is not None and not re.fullmatch(r"\d{1,2}", str(channel)):
        raise RigError(f"channel = {channel!r}: give the number of a channel")
    for key in [args.get("key", ""), *(keys if isinstance(keys := args.get("keys", ()), list | tuple) else [keys])]:
        if not isinstance(key, str) or (key.startswith("0x") and not USAGE.fullmatch(key)):
            raise RigError(f"key {key!r}: give its legend, or its usage as 0x3a")
    tags = args.get("tags")
    if tags is not None:
        _tags(list(tags.values()) if isinstance(tags, Mapping) else tags)


def _shoe(shoe: SmartShoe, what: str, args: Args, now: int) -> Answer:
    match what:
        case "load":
            shoe.load(args["cards"], _of_cards(args))
        case "slide":
            return {"card": _slide(shoe, args, now)}
        case "jam":
            shoe.jam()
        case "clear":
            shoe.clear()
        case "lid":
            shoe.lid(is_open=bool(args["open"]))
        case "reset":
            shoe.restart()
        case "erase":
            shoe.erase()
        case "state":
            return {"left": shoe.left, "unconfirmed": shoe.unconfirmed()}
        case _:
            raise _unknown(what, "shoe")
    return {}


def _of_cards(args: Args) -> Mapping[str, str] | None:
    """The tags of cards, for a shoe that reads tags."""
    tags = args.get("tags")
    if tags is not None and not isinstance(tags, Mapping):
        raise RigError(f'tags = {tags!r}: give the tag of each card: {{"As": "E00401000000000A"}}')
    return tags


def _slide(shoe: SmartShoe, args: Args, now: int) -> str:
    """Draw the next card of the loaded deck, or the named ``card``: then the deck never runs out.

    ``seen`` is what the shoe takes it for, ``"??"`` where it can not tell.
    """
    seen = args.get("seen")
    if "card" in args:
        card = args["card"]
        seen = "??" if card is None else seen
        shoe.load([card or FILLER[0], *FILLER], _of_cards(args))
    drawn = shoe.slide(now, int(args.get("confidence", 100)), seen)
    if drawn is None:
        raise RigError("slide: no card came out; the shoe is empty, jammed, open or its memory is full")
    return drawn


def _keypad(keypad: Keypad, what: str, args: Args) -> Answer:
    match what:
        case "press":
            keypad.press(args["key"])
        case "release":
            keypad.release(args["key"])
        case "tap":
            keypad.tap(*args["keys"])
        case "state":
            pass
        case _:
            raise _unknown(what, "keypad")
    return {}


def _reader(reader: FeigReader | PepperReader | MercuryModule, what: str, args: Args) -> Answer:
    antenna = max(1, _channel(reader, args.get("channel", 1)))
    match what:
        case "put":
            reader.put(_tags(args["tags"]), antenna)
        case "take":
            reader.take(_tags(args["tags"]), antenna)
        case "trouble":
            reader.trouble(int(args["status"]), int(args.get("times", 1)))
        case "reset":
            reader.reset()
        case "state":
            return {"tags": sorted(reader.field(antenna))}
        case _:
            raise _unknown(what, "reader")
    return {}


def _channel(reader: FeigReader | PepperReader | MercuryModule, given: object) -> int:
    most = reader.fields if isinstance(reader, FeigReader) else MOST_FIELDS
    if not isinstance(given, int | str) or not str(given).isdecimal() or int(given) > most:
        raise RigError(f"channel = {given!r}: this reader has the channels 1 to {most}")
    return int(given)


def _tags(given: object) -> list[str]:
    """Tags as hex: what is none would be heard by no reader."""
    if not isinstance(given, list | tuple | set | frozenset):
        raise RigError(f'tags = {given!r}: give a list of tags: ["E00401000000000A"]')
    for tag in given:
        if not isinstance(tag, str) or not TAG.fullmatch(tag):
            raise RigError(f"tags: {tag!r} is no tag: write its bytes in hex, at most 32 of them")
    return list(given)


def _recording(recording: Recording, what: str, now: int) -> Answer:
    match what:
        case "begin":
            recording.begin(now)
        case "turn":
            recording.turn()
        case "state":
            return {"left": recording.left}
        case _:
            raise _unknown(what, "recording")
    return {}


def _face(args: Args) -> str | None:
    return None if args.get("card") == "??" else args.get("card")


def _camera(camera: SmartCamera, what: str, args: Args) -> Answer:
    match what:
        case "lay":
            confidence = int(args.get("confidence", 99))
            number = camera.lay(int(args["channel"]), _face(args), up=bool(args.get("up", True)), confidence=confidence)
            return {"object": number}
        case "turn":
            camera.turn(int(args["object"]), _face(args), confidence=int(args.get("confidence", 99)))
        case "lift":
            camera.lift(int(args["object"]))
        case "condition":
            camera.condition(Condition[str(args["name"]).upper()], bool(args.get("raised", True)))
        case "reset":
            camera.reset()
        case "state":
            scene = camera.scene().values()
            return {"cards": sorted(seen.card or "??" for seen in scene), "unconfirmed": camera.unconfirmed()}
        case _:
            raise _unknown(what, "camera")
    return {}


def _unknown(what: str, kind: str) -> RigError:
    return RigError(f"a {kind} knows no {what!r}")
