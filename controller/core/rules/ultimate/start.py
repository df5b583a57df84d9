"""The end of betting: what stands against a deal, and the record that begins a round (LT-1.3 to LT-1.5, LT-2, LT-3)."""

from controller.core import incidents
from controller.core.errors import BadCommand
from controller.core.facts import Basis, CardCame, HandAttested, Sources
from controller.core.floor import conditions
from controller.core.inputs import Command
from controller.core.out import Out, cite
from controller.core.rules import showdown
from controller.core.rules.ultimate import stakes
from controller.core.rules.ultimate.breaches import SET_ASIDE
from controller.core.rules.ultimate.evolve import box_data
from controller.core.rules.ultimate.state import Box, Coup
from controller.core.rules.ultimate.talk import Data, breach, fraction, house, person, switches_data, unit

Trouble = tuple[str, str, int | None]


def attest(out: Out, fact: HandAttested, seed: bytes | None) -> bool:
    """HAND: shuffled, cut offered and made (the key does not say by whom), no more bets. True if the seed is used."""
    return no_more_bets(out, seed, fact.basis, fact.evidence, shuffled=True, offered=True, cut="")


def command(out: Out, asked: Command, seed: bytes | None) -> bool:
    """``no_more_bets``: shuffled?, cut_offered?, cut_by? (``player`` ``dealer`` ``inspector``). True: the seed is used.

    What is left out counts where it has been attested before (``attest`` with LT-1.3, LT-1.4, LT-1.5).
    """
    args = asked.args
    cut = args.get("cut_by")
    if cut is not None and cut not in ("player", "dealer", "inspector"):
        raise BadCommand("cut_by", cut, "use player, dealer or inspector (LT-1.4, LT-1.5)")
    for name in ("shuffled", "cut_offered"):
        if not isinstance(args.get(name, False), bool):
            raise BadCommand(name, args[name], "use true or false")
    offered = args.get("cut_offered", cut == "player")
    return no_more_bets(out, seed, "attested", (), shuffled=args.get("shuffled", False), offered=offered, cut=cut)


def no_more_bets(
    out: Out,
    seed: bytes | None,
    basis: Basis,
    evidence: Sources,
    *,
    shuffled: bool,
    offered: bool,
    cut: str | None,
) -> bool:
    """Start the round, or say all that stands against it. True if the seed is used."""
    table = out.state.table
    if table.coup is not None:
        breach(out, "no_shuffle", "BLOCK", f"round {table.coup.id} is being played; it has to end first")
        return False
    if not _may_start(out, seed):
        return False
    shuffled, offered, cut = shuffled or table.shuffled, offered or table.cut_offered, table.cut if cut is None else cut
    found = [*deck_problems(shuffled=shuffled, cut=cut), *stakes.problems(out)]
    offer = None if offered else ("no_cut_offer", "a player is offered the cut before every deal", None)
    if offer is not None and house(out.setup).cut_offer == "BLOCK":
        found.append(offer)
    found = [one for one in found if not _set_aside(out, one[0])]
    for key, asked, box in found:
        breach(out, key, "BLOCK", asked, box=box, evidence=evidence)
    if found:
        _attested(out, basis, evidence, shuffled=shuffled, offered=offered, cut=cut)
        return False
    start(out, seed or b"", basis, evidence, shuffled=True, offered=offered, cut=cut)
    if offer is not None:
        breach(out, offer[0], "FLAG", offer[1], evidence=evidence)
    return True


def _attested(out: Out, basis: Basis, evidence: Sources, *, shuffled: bool, offered: bool, cut: str | None) -> None:
    """The deal is refused; that the deck is shuffled and cut is true all the same, and is not asked for twice."""
    table = out.state.table
    said = (("LT-1.3", shuffled, table.shuffled), ("LT-1.4", offered, table.cut_offered), ("LT-1.5", cut, table.cut))
    rules = [rule for rule, now, before in said if now not in (False, None) and before in (False, None)]
    if rules:
        data: Data = {"rules": rules, "statement": "no_more_bets", "scope": "hand", "by": person(out, "dealer")}
        if "LT-1.5" in rules:
            data["cut_by"] = cut
        out.emit("play", "attestation.recorded", out.setup.table, data | {"basis": basis, "evidence": cite(evidence)})


def _set_aside(out: Out, key: str) -> bool:
    """Whether a person who may has ruled that play goes on against this rule."""
    rules = set(out.rules(key)[:1])
    return bool(rules & SET_ASIDE & set(out.state.floor.overrides))


def deck_problems(*, shuffled: bool, cut: str | None) -> list[Trouble]:
    """What is missing before cards may be dealt (LT-1.3, LT-1.5)."""
    found: list[Trouble] = []
    if not shuffled:
        found.append(("no_shuffle", "the deck is shuffled before the deal", None))
    if cut is None:
        found.append(("no_cut", "the deck is cut: by a player, or by the dealer or the inspector", None))
    return found


def _may_start(out: Out, seed: bytes | None) -> bool:
    state = out.state
    if state.session is None:
        out.breach("no_session", "BLOCK", "the table is not open; open it first")
        return False
    if state.incidents:
        codes = ", ".join(sorted(i.code for i in state.incidents.values()))
        breach(out, "held", "BLOCK", f"no new round while {codes} is open; it has to be ruled or cleared first")
        return False
    if state.storage_full:
        out.breach("storage_full", "BLOCK", "the ledger is full; no new round until it has room")
        return False
    if seed is None:
        out.breach("no_seed", "BLOCK", "no hand seed was fed; this is a fault of the controller")
        return False
    return conditions.told(out, conditions.of_table(out))


def by_card(out: Out, fact: CardCame, seed: bytes | None) -> Coup | None:
    """A card before the end of betting: the round starts with it and is held, since a deal was not due."""
    table = out.state.table
    if not _may_start(out, seed):
        return None
    if out.state.replaces is not None and not table.shuffled:
        breach(out, "no_shuffle", "BLOCK", "the deal was void: all cards are shuffled first", evidence=fact.evidence)
        return None
    if not table.staked:
        breach(out, "no_stakes", "BLOCK", "a card came and no box has a stake", evidence=fact.evidence)
        return None
    found = [*deck_problems(shuffled=table.shuffled, cut=table.cut), *stakes.problems(out)]
    start(
        out, seed or b"", fact.basis, fact.evidence, shuffled=table.shuffled, offered=table.cut_offered, cut=table.cut
    )
    coup = table.coup
    assert coup is not None
    for key, asked, box in found:
        breach(out, key, "BLOCK", asked, box=box, evidence=fact.evidence)
    key, asked, box = found[0] if found else ("no_cut_offer", "betting was not ended before the deal", None)
    incidents.open_one(
        out,
        "I-41",
        key,
        "dealt_too_early",
        holds="hand",
        proposed="redeal",
        alternatives=("play_on", "void"),
        boxes=() if box is None else (box,),
        facts={"asked": asked},
        evidence=fact.evidence,
    )
    return coup


def start(
    out: Out, seed: bytes, basis: Basis, evidence: Sources, *, shuffled: bool, offered: bool, cut: str | None
) -> None:
    """``hand.started``: the stakes that lie are the stakes of the round; PLAY among them makes a box dark."""
    state, setup = out.state, out.setup
    table, rules = state.table, house(setup)
    showdown.final(out, "next_hand")
    coming = out.coming()
    boxes = [_line(out, number, table.boxes[number]) for number in table.staked]
    data: Data = {
        "number": coming.number,
        "game": setup.profile.game,
        "profile": {"sha256": setup.profile.sha256},
        "limits": limits_data(out),
        "boxes": [line | _owner(boxes, line) for line in boxes],
        "paytables": {"trips": rules.tables().trips.name, "blind": rules.tables().blind.name},
        "switches": switches_data(out),
        "deck": setup.deck.id,
        "shuffled": shuffled,
        "cut": {"done": cut is not None, "by": cut or None, "offered": offered},
        "dealer": person(out, "dealer"),
        "inspector": person(out, "inspector"),
        "pit_boss": person(out, "pit_boss"),
        "basis": basis,
        "evidence": cite(evidence),
    }
    if state.replaces is not None:
        data["replaces"] = state.replaces
    out.start_round(coming, data, {"seed": seed.hex()})
    coup = table.coup
    assert coup is not None
    for number, box in sorted(coup.boxes.items()):
        if box.dark:
            told: Data = {"box": number, "decision": 1, "kind": "dark", "amount": box.stake("play")}
            told |= {"multiple": fraction(box.multiple("play")), "locked": True}
            out.hand("box.decided", told, "derived")


def _line(out: Out, number: int, box: Box) -> Data:
    player = stakes.player_of(out, number)
    dark = box.stake("play") > 0 and not box.looked
    return box_data(number, box) | {"dark": dark} | ({} if player is None else {"player": player})


def _owner(boxes: list[Data], line: Data) -> Data:
    """For a dark box: the box that its player may look at."""
    player = line.get("player")
    mine = [b["box"] for b in boxes if not b["dark"] and player is not None and b.get("player") == player]
    return {"owner_seen_box": mine[0]} if line["dark"] and mine else {}


def limits_data(out: Out) -> Data:
    """The limits of the table as the contract spells them."""
    rules = house(out.setup)
    posted = None if rules.trips_posted is None else list(rules.trips_posted)
    data: Data = {"ante": {"min": rules.ante_min, "max": rules.ante_max}, "trips": {"posted": posted}}
    return data | {"max_payout": rules.max_payout, "rounding": rules.switches(unit(out.setup)).unit}
