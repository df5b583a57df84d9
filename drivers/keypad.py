"""The dealer's keypad: a USB HID boot keyboard. One report of eight bytes tells which keys are down.

What the keys mean together is no business of the driver: the grammar is in docs/keypad.md.
"""

from collections.abc import Mapping

from drivers.conversation import Step
from drivers.host import Host
from drivers.options import Options
from drivers.readings import KeyPressed, KeyReleased, Reading

REPORT = 8
SLOTS = 6
ROLLOVER = 0x01
UNDEFINED = 0x03
"""Usages up to here in a slot are no keys but error codes."""
MODIFIERS = 0xE0
"""Usage of the lowest bit of the modifier byte."""

DIGITS = tuple("0123456789")
VERBS = ("FOLD", "CHECK", "CALL", "BET", "RAISE", "ALLIN", "HAND", "SHOW", "DONE", "MISDEAL", "VOID")
KEYS = (*DIGITS, "ENTER", "CLEAR", *VERBS)


def default_keymap() -> dict[int, str]:
    """Digits of the number pad and the top row, both Enters, Backspace as CLEAR, the verbs on F13 to F23."""
    keymap = {0x58: "ENTER", 0x28: "ENTER", 0x2A: "CLEAR"}
    for place, digit in enumerate("1234567890"):
        keymap[0x59 + place] = digit
        keymap[0x1E + place] = digit
    keymap.update({0x68 + place: verb for place, verb in enumerate(VERBS)})
    return keymap


def encode_report(usages: tuple[int, ...]) -> bytes:
    """The report of a keyboard on which these keys are down; more than six roll over."""
    modifiers = 0
    slots: list[int] = []
    for usage in usages:
        if usage >= MODIFIERS:
            modifiers |= 1 << (usage - MODIFIERS)
        else:
            slots.append(usage)
    if len(slots) > SLOTS:
        slots = [ROLLOVER] * SLOTS
    return bytes((modifiers, 0)) + bytes(slots).ljust(SLOTS, b"\x00")


def decode_report(report: bytes) -> tuple[int, ...] | None:
    """The usages that are down, in the order of the report; ``None`` where it is no boot report.

    The second byte belongs to the maker of the keyboard and says nothing.
    """
    if len(report) != REPORT:
        return None
    slots = [usage for usage in report[2:] if usage]
    if len(set(slots)) != len(slots) or any(usage <= UNDEFINED or usage >= MODIFIERS for usage in slots):
        return None
    modifiers = [MODIFIERS + bit for bit in range(8) if report[0] >> bit & 1]
    return (*modifiers, *slots)


def is_rollover(report: bytes) -> bool:
    """Too many keys are down for the keyboard to tell which: nothing is known, nothing has changed."""
    return len(report) == REPORT and report[2:] == bytes((ROLLOVER,)) * SLOTS


class KeypadHost(Host):
    """Conversation with one keypad. HID reports only: who the keypad is, USB has told the link already.

    Option ``keymap``: a table of usage to key, for example ``{"0x68" = "FOLD"}``, laid over the default.
    A key that is not mapped is told as ``"?0x3a"``, its usage.
    """

    kind = "keypad"
    role = "keypad"

    def __init__(
        self,
        device: str,
        *,
        path: str = "",
        expect: Mapping[str, str] | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(device, path, expect)
        given = Options(device, options or {})
        self._keymap = default_keymap()
        for name, key in given.table("keymap").items():
            usage = _usage(name)
            if usage is None:
                given.fault(f"keymap.{name}", key, 'name the key by its HID usage, "0x04" to "0xe7"')
            elif not isinstance(key, str) or key not in KEYS:
                given.fault(f"keymap.{name}", key, f"use one of {', '.join(KEYS)}")
            else:
                self._keymap[usage] = key
        for key in KEYS:
            if key not in self._keymap.values():
                given.fault("keymap", key, f"no key means {key} any more: give it another one")
        given.finish()
        self._down: list[int] = []
        self._unsure: set[int] = set()

    def start(self, now: int) -> Step:
        """Whatever was held before is no longer known to be held."""
        self._let_go()
        self._unsure.clear()
        self._up(self.expect.get("model", "HID boot keyboard"), self.expect.get("serial", ""), "")
        return self._step(now, None)

    def feed(self, data: bytes, now: int) -> Step:
        """One report came."""
        if not is_rollover(data):
            usages = decode_report(data)
            if usages is None:
                self._garbled(len(data))
            else:
                self._report(usages)
        return self._step(now, None)

    def tick(self, now: int) -> Step:
        """Only the end of a noisy time is due by the clock."""
        return self._step(now, None)

    def acknowledge(self, reading: Reading, now: int) -> Step:
        """A keyboard does not wait for an answer."""
        del reading
        return self._step(now, None)

    def stop(self, now: int) -> Step:
        """A keyboard needs no farewell."""
        self._let_go()
        return self._step(now, None)

    def _report(self, usages: tuple[int, ...]) -> None:
        self._unsure.intersection_update(usages)
        for usage in [held for held in self._down if held not in usages]:
            self._down.remove(usage)
            self._readings.append(KeyReleased(self.device, self._number(), self._name(usage)))
        for usage in usages:
            if usage not in self._down and usage not in self._unsure:
                self._down.append(usage)
                self._readings.append(KeyPressed(self.device, self._number(), self._name(usage)))

    def _garbled(self, size: int) -> None:
        """A report that can not be: it may have been a release, so no key counts as held any longer.

        Otherwise a lost release would look like a key held for two seconds, and that undoes a decision. A
        key that was held is not told as pressed again before a good report shows that it has come up.
        """
        self.noise.dropped += size
        self.noise.resync += 1
        self._unsure.update(self._down)
        self._let_go()

    def _let_go(self) -> None:
        for usage in self._down:
            self._readings.append(KeyReleased(self.device, self._number(), self._name(usage)))
        self._down.clear()

    def _name(self, usage: int) -> str:
        return self._keymap.get(usage, f"?0x{usage:02x}")


def _usage(name: str) -> int | None:
    digits = name.lower().removeprefix("0x")
    if not name.lower().startswith("0x") or not digits or not set(digits) <= set("0123456789abcdef"):
        return None
    usage = int(digits, 16)
    return usage if UNDEFINED < usage < MODIFIERS + 8 else None
