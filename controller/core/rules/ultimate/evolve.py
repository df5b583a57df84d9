"""What each record makes of an Ultimate table. Called from ``controller.core.evolve`` alone.

``INSTEAD`` replaces what a record of that type does at a poker table; ``TABLE`` comes after what all tables do;
``COUP`` changes the round under way.
"""

from collections.abc import Callable
from typing import Any

from controller.core.cards import UNKNOWN
from controller.core.records import Record
from controller.core.rules.ultimate.state import Box, BoxTable, Colour, Coming, Coup, Dealt, Said

Data = dict[str, Any]


def box_of(data: Data) -> Box:
    """A box as ``hand.started`` and ``hand.redealt`` spell it."""
    return Box(
        player=data.get("player"),
        stakes=dict(data["stakes"]),
        luck=dict(data.get("luck", {})),
        sensed=tuple(data.get("sensed", ())),
        play_at=0 if data["stakes"].get("play") else None,
        dark=data["dark"],
        looked=data.get("looked", False),
        folded=0 if data.get("folded") else None,
    )


def box_data(number: int, box: Box) -> Data:
    """The reverse of ``box_of``."""
    data: Data = {"box": number, "dark": box.dark, "stakes": {k: v for k, v in box.stakes.items() if v}}
    if box.player is not None:
        data["player"] = box.player
    if any(box.luck.values()):
        data["luck"] = {k: v for k, v in box.luck.items() if v}
    if box.sensed:
        data["sensed"] = list(box.sensed)
    return data | ({"looked": True} if box.looked else {}) | ({"folded": True} if box.folded == 0 else {})


# --- between rounds ------------------------------------------------------------------------------------------


def _opened(table: BoxTable, record: Record) -> None:
    table.playing = record.type == "table.opened"
    table.announced, table.boxes, table.coming, table.coup = (), {}, None, None
    table.shuffled, table.cut, table.cut_offered = False, None, False
    table.colours = {}


def _announced(table: BoxTable, record: Record) -> None:
    table.announced, table.valid = tuple(record.data["boxes"]), record.data["valid"]


def _attested(table: BoxTable, record: Record) -> None:
    rules = record.data["rules"]
    table.shuffled = table.shuffled or "LT-1.3" in rules
    table.cut_offered = table.cut_offered or "LT-1.4" in rules
    if "LT-1.5" in rules:
        by = record.data["by"]  # nobody, where no dealer is logged in
        table.cut = record.data.get("cut_by", by["role"] if by else "")


def _stake(table: BoxTable, record: Record) -> None:
    """``bet.placed`` and ``bet.withdrawn``: the spot holds ``lies`` from now on."""
    data = record.data
    if table.coup is None:
        _name(table, record)
        box = table.boxes.setdefault(data["box"], Box())
    else:
        box = table.coup.boxes[data["box"]]
    spot = data["spot"]
    box.stakes[spot] = data["lies"]
    box.luck[spot] = sum(c["denomination"] * c["count"] for c in data["chips"] if c["class"] == "promo")
    if data["basis"] == "sensor" and spot not in box.sensed:
        box.sensed = (*box.sensed, spot)
    if table.coup is None and not box.staked:
        del table.boxes[data["box"]]


def _name(table: BoxTable, record: Record) -> None:
    """Records before the deal carry the name of the round to come."""
    data = record.data
    if table.coming is None or table.coming.id != data["hand"]:
        table.coming = Coming(data["hand"], record.day, int(data["hand"].rsplit("-", 1)[1]))
    table.coming.n = data["n"] + 1


def _refused(table: BoxTable, record: Record) -> None:
    if table.coup is None and "hand" in record.data:
        _name(table, record)


def _colour(table: BoxTable, record: Record) -> None:
    data = record.data
    table.colours[data["colour"]] = Colour(data["value"], data.get("player"), data.get("box"))


def _colour_back(table: BoxTable, record: Record) -> None:
    table.colours.pop(record.data["colour"], None)


def started(table: BoxTable, record: Record) -> None:
    """``hand.started``."""
    data, secret = record.data, record.secret or {}
    table.coup = Coup(
        id=data["hand"],
        day=record.day,
        seed=bytes.fromhex(secret.get("seed", "")),  # the key of a round that has ended is gone
        boxes={line["box"]: box_of(line) for line in data["boxes"]},
        n=data["n"] + 1,
        t_ms=data["t_ms"],
        fold_trips=data["switches"]["fold_trips"],
    )
    table.boxes, table.coming = {}, None
    table.shuffled, table.cut, table.cut_offered = False, None, False
    if table.valid == "one_round":
        table.announced = ()


def ended(table: BoxTable, record: Record) -> None:
    """``hand.closed`` and ``hand.voided``."""
    table.coup = None


def _redealt(table: BoxTable, record: Record) -> None:
    data = record.data
    table.coming = Coming(data["new"], record.day, int(data["new"].rsplit("-", 1)[1]))
    table.boxes = {line["box"]: box_of(line) for line in data["boxes"]}
    table.announced = tuple(data["announced"])


TABLE: dict[str, Callable[[BoxTable, Record], None]] = {
    "table.opened": _opened,
    "table.closed": _opened,
    "boxes.announced": _announced,
    "attestation.recorded": _attested,
    "bet.placed": _stake,
    "bet.withdrawn": _stake,
    "bet.refused": _refused,
    "colour.assigned": _colour,
    "colour.released": _colour_back,
    "hand.redealt": _redealt,
}


# --- the round -----------------------------------------------------------------------------------------------


def _card_dealt(coup: Coup, data: Data, secret: Data) -> None:
    card = secret.get("card", UNKNOWN)
    known = None if card == UNKNOWN else card
    premature = data.get("premature", False)
    dealt = Dealt(data["place"], data.get("box"), known, secret.get("salt"), premature=premature)
    dealt.doubted = secret.get("card") == UNKNOWN
    coup.slots.append(dealt)
    coup.said = None


def _card_opened(coup: Coup, data: Data, secret: Data) -> None:
    slot = coup.slots[data["slot"]]
    slot.card, slot.opened = data["card"], True
    coup.said = None


def _decided(coup: Coup, data: Data, secret: Data) -> None:
    box = coup.boxes[data["box"]]
    if data["kind"] == "fold":
        box.folded = data["decision"]
    elif data["kind"] == "play":
        box.play_at = data["decision"]
        box.stakes["play"] = data["amount"]
    if data["kind"] != "dark":
        coup.said = Said(data["box"], data["decision"], data["n"]) if data["basis"] == "keyed" else None
        coup.actions += 1
    box.decided = max(box.decided, data["decision"])


def _undone(coup: Coup, data: Data, secret: Data) -> None:
    box = coup.boxes[data["box"]]
    box.folded, box.decided = None, data["decision"] - 1
    if box.play_at == data["decision"]:
        box.play_at = None
        box.stakes["play"] = box.luck["play"] = 0
    coup.said = None


def _dealer(coup: Coup, data: Data, secret: Data) -> None:
    coup.dealer_shown, coup.said = True, None


def _revealed(coup: Coup, data: Data, secret: Data) -> None:
    coup.boxes[data["box"]].revealed, coup.said = True, None


def _counted(coup: Coup, data: Data, secret: Data) -> None:
    box = coup.boxes[data["box"]]
    box.counted[data["spot"]] = data["amount"]
    if data["agrees"] and data["spot"] not in box.agreed:
        box.agreed = (*box.agreed, data["spot"])


def _settled(coup: Coup, data: Data, secret: Data) -> None:
    coup.boxes[data["box"]].settled, coup.said = True, None
    coup.house_net += data["house_net"]
    keys = ("box", "against", "lines", "stake", "returned", "house_net", "promo_stake", "rounding_left")
    coup.results.append({key: data[key] for key in keys})


def _breach(coup: Coup, data: Data, secret: Data) -> None:
    coup.breaches = (*coup.breaches, *data["rules"][:1])


def _incident(coup: Coup, data: Data, secret: Data) -> None:
    coup.incidents, coup.said = (*coup.incidents, data["incident"]), None


def _ruled(coup: Coup, data: Data, secret: Data) -> None:
    for index in data["effects"].get("standing_slots", ()):
        coup.slots[index].premature = False


COUP: dict[str, Callable[[Coup, Data, Data], None]] = {
    "card.dealt": _card_dealt,
    "card.opened": _card_opened,
    "box.decided": _decided,
    "box.undone": _undone,
    "dealer.revealed": _dealer,
    "box.revealed": _revealed,
    "spot.counted": _counted,
    "box.settled": _settled,
    "breach.noted": _breach,
    "incident.opened": _incident,
    "incident.ruled": _ruled,
}


def evolve(table: BoxTable, record: Record) -> None:
    """Apply one record."""
    data, coup = record.data, table.coup
    if coup is not None and data.get("hand") == coup.id and "n" in data:
        coup.n, coup.t_ms = data["n"] + 1, data["t_ms"]
    change = TABLE.get(record.type)
    if change is not None:
        change(table, record)
    on_coup = COUP.get(record.type)
    if on_coup is not None and coup is not None and data.get("hand") == coup.id:
        on_coup(coup, data, record.secret or {})
