"""Which rule of the Lithuanian text a refusal or breach at an Ultimate table rests on."""

LT: dict[str, tuple[str, ...]] = {
    # what a house has to decide
    "blind_undecided": ("LT-10.5", "LT-A1"),
    "not_qualified_undecided": ("LT-A2",),
    "fold_trips_undecided": ("LT-A4",),
    "trips_sign": ("LT-3.5",),
    "trips_sign_range": ("LT-3.5", "LT-3.4"),
    "ante_undecided": ("LT-A13",),
    "luck_undecided": ("LT-A12",),
    "disputed": ("CM-19", "CM-23"),
    # boxes
    "box_unknown": ("LT-2.1",),
    "pit_boss_announces": ("LT-2.2",),
    "nothing_announced": ("LT-2.2",),
    "box_not_announced": ("LT-2.3",),
    "dark_looked_at": ("LT-2.4", "LT-2.5", "LT-A8"),
    "too_many_boxes": ("LT-2.6", "LT-A14"),
    "dark_without_play": ("LT-2.7",),
    "dark_multiple": ("LT-2.8",),
    # stakes before the deal
    "ante_blind": ("LT-3.1",),
    "trips_alone": ("LT-3.1", "LT-A16"),
    "ante_limits": ("LT-A13",),
    "late_trips": ("LT-3.2",),
    "late_stake": ("LT-3.1",),
    "trips_range": ("LT-3.4",),
    "trips_posted": ("LT-3.5",),
    "chip_kind": ("LT-1.1", "LT-A12"),
    "colour_in_play": ("LT-1.1", "LT-A12"),
    "colour_taken": ("LT-1.1", "LT-A12"),
    # shuffle and deal
    "no_shuffle": ("LT-1.3",),
    "no_cut_offer": ("LT-1.4",),
    "no_cut": ("LT-1.5",),
    "no_stakes": ("LT-3.1",),
    "wrong_count": ("LT-6.4", "LT-6.1", "LT-A5"),
    "card_turned": ("LT-6.4", "LT-6.2", "LT-A5"),
    "misdeal": ("LT-6.4", "LT-A5"),
    "redeal": ("LT-6.4", "LT-A5", "LT-A6"),
    "cards_exchanged": ("LT-6.8",),
    "cards_away": ("LT-7.1",),
    "not_under_play": ("LT-7.3",),
    "fouled_deck": ("LT-1.2", "CM-12"),
    "foreign_card": ("LT-1.2", "CM-11"),
    "unsure_card": ("LT-9.4",),
    # decisions
    "decision_1": ("LT-8.1",),
    "decision_2": ("LT-8.4",),
    "decision_3": ("LT-9.2",),
    "dark_decides": ("LT-2.5", "LT-A7"),
    "play_touched": ("LT-8.2", "LT-10.1"),
    "play_touched_later": ("LT-10.1",),
    "early_fold": ("LT-A11",),
    "premature_flop": ("LT-8.3", "LT-A5"),
    "premature_river": ("LT-9.1", "LT-A5"),
    "premature_dealer": ("LT-9.3", "LT-A5"),
    # settlement
    "trips_before_dealer": ("LT-4.2",),
    "unsettled": ("LT-A10",),
    "wrong_take": ("LT-10.3",),
    "wrong_pay": ("LT-10.4",),
    "wrong_blind": ("LT-10.5",),
    "wrong_trips": ("LT-4.1", "LT-5.1"),
    # the table
    "held": ("CM-23",),
    "may_not_rule": ("CM-23",),
    "person_called": ("CM-23",),
    "bets_lie": ("LT-A10",),
    "settings_in_hand": ("CM-22",),
    "device_lost": (),
}
"""The ids behind each breach key, the text's own first."""

SET_ASIDE = frozenset({"LT-1.4", "LT-1.5", "LT-2.3", "LT-2.6", "LT-2.7", "LT-2.8", "LT-3.4", "LT-3.5", "LT-A13"})
"""What bars a deal and a person who may rule can set aside, on record (CM-23)."""
