"""The same breach rests on another rule at another moment: by street, number of players, game and pots."""

from controller.core.rules.profile import Family, Profile
from controller.core.state import State

Ids = tuple[str, ...]

HR: dict[str, dict[str, Ids]] = {
    "out_of_turn": {
        "preflop": ("HR-11.6", "CM-15"),
        "flop": ("HR-12.4", "CM-15"),
        "turn": ("HR-13.2", "HR-12.4", "CM-15"),
        "river": ("HR-14.2", "HR-12.4", "CM-15"),
    },
    "check_facing_bet": {
        "preflop": ("HR-11.7", "HR-12.6"),
        "turn": ("HR-13.2", "HR-12.5", "HR-12.6"),
        "river": ("HR-14.2", "HR-12.5", "HR-12.6"),
    },
    "premature_board": {
        "flop": ("HR-12.6", "HR-13.1", "CM-13"),
        "turn": ("HR-12.6", "HR-14.1", "CM-13"),
    },
    "no_burn": {"flop": ("HR-13.1", "CM-14b", "CM-9"), "turn": ("HR-14.1", "CM-14b", "CM-9")},
    "extra_burn": {"flop": ("HR-13.1", "CM-14b"), "turn": ("HR-14.1", "CM-14b")},
    "wrong_push": {
        "side_pots": ("HR-12.19", "HR-12.18", "HR-15.4"),
        "all_in": ("HR-12.17", "HR-12.15", "HR-15.4"),
    },
}
BG: dict[str, dict[str, Ids]] = {
    "out_of_turn": {
        "preflop": ("BG-5.4", "BG-4.3", "BG-A7", "CM-15"),
        "flop": ("BG-5.16", "BG-4.2", "BG-4.3", "CM-15"),
        "turn": ("BG-4.2", "BG-4.3", "CM-15"),
        "river": ("BG-4.2", "BG-4.3", "CM-15"),
    },
    "check_facing_bet": {"preflop": ("BG-5.6",), "turn": ("BG-5.18", "BG-5.19"), "river": ("BG-5.18", "BG-5.19")},
    "any_greater": {"flop": ("BG-5.22", "BG-A5"), "turn": ("BG-5.22", "BG-A5"), "river": ("BG-5.22", "BG-A5")},
    "no_burn": {"flop": ("BG-5.24", "CM-14b", "CM-9"), "turn": ("BG-5.26", "CM-14b", "CM-9")},
    "extra_burn": {"flop": ("BG-5.24", "CM-14b"), "turn": ("BG-5.26", "CM-14b")},
}
RS: dict[str, dict[str, Ids]] = {
    "out_of_turn": {
        "two preflop": ("RS-2.6", "CM-15"),
        "two": ("RS-2.7", "RS-4.2", "CM-15"),
        "preflop": ("RS-3.2", "RS-3.4", "CM-15"),
        "flop": ("RS-4.2", "RS-3.4", "CM-15"),
        "turn": ("RS-4.2", "RS-3.4", "CM-15"),
        "river": ("RS-4.2", "RS-3.4", "CM-15"),
    },
    "check_facing_bet": {"preflop": ("RS-3.3", "RS-7.3"), "omaha": ("RS-4.3", "RS-7.3", "RS-10.2")},
    "premature_board": {
        "raised": ("RS-3.6", "RS-7.5", "CM-13"),
        "flop": ("RS-3.6", "RS-5.1", "CM-13"),
        "turn": ("RS-3.6", "RS-5.2", "CM-13"),
    },
    "blind_not_due": {"two": ("RS-2.5", "RS-2.2")},
    "wrong_push": {"side_pots": ("RS-9.8", "RS-9.9"), "split": ("RS-9.6",)},
    "misdealt": {"omaha": ("RS-10.1", "CM-11")},
    "misdealt_order": {"omaha": ("RS-10.1", "CM-11", "CM-20")},
    "board_full": {"omaha": ("RS-10.2",)},
    "min_raise": {"flop": ("RS-7.2", "RS-4.4", "CM-2"), "turn": ("RS-7.2", "RS-4.4", "CM-2")},
}
MOMENTS: dict[Family, dict[str, dict[str, Ids]]] = {"HR": HR, "BG": BG, "RS": RS}
"""By family, breach key and moment; the first moment that fits counts, and the general table where none does."""


def precise(key: str, state: State, profile: Profile) -> Ids | None:
    """The rules behind a breach at this moment, or ``None`` where the moment makes no difference."""
    table = MOMENTS.get(profile.family, {}).get(key)
    if table is None:
        return None
    now = moments(state, profile)
    return next((ids for words, ids in table.items() if now.issuperset(words.split())), None)


def moments(state: State, profile: Profile) -> set[str]:
    """What distinguishes this moment: street, ``two`` players, ``omaha``, ``raised``, the kinds of pots."""
    hand = state.hand
    players = len(state.seats) if hand is None else len(hand.order)
    now = {word for word, is_so in (("two", players == 2), ("omaha", profile.game == "omaha")) if is_so}
    if hand is None:
        return now
    now.add(hand.street)
    shared = any(len(pot.get("winners", ())) > 1 for pot in hand.pots)
    kinds = (
        ("raised", hand.raises > 0),
        ("side_pots", len(hand.pots) > 1),
        ("all_in", bool(hand.all_in)),
        ("split", shared),
    )
    return now | {word for word, is_so in kinds if is_so}
