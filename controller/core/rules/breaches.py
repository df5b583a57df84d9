"""Which rule of which text a refusal or breach rests on. The profile's own id first, common defaults after it."""

from typing import Literal

from controller.core.cash.codes import CASH
from controller.core.floor.codes import FLOOR
from controller.core.rules.codes import FAMILIES
from controller.core.rules.profile import Family

Reaction = Literal["BLOCK", "HOLD", "FLAG", "INFO"]

IDS: dict[str, dict[Family, tuple[str, ...]]] = {
    "raise_cap": {"HR": ("HR-11.8", "HR-A1")},
    "not_reopened": {"HR": ("CM-3",), "RS": ("RS-7.13", "CM-3")},
    "nobody_to_answer": {"HR": ("CM-4",), "RS": ("CM-4",)},
    "short_stack": {"HR": ("HR-12.14",), "RS": ("RS-7.4",)},
    "min_raise": {"HR": ("HR-A3", "CM-2"), "RS": ("RS-7.2", "CM-2")},
    "min_bet": {"HR": ("HR-A3", "CM-1"), "RS": ("CM-1",)},
    "over_stack": {"HR": ("HR-9.3",), "RS": ("RS-7.10",)},
    "check_facing_bet": {"HR": ("HR-12.5", "HR-12.6"), "RS": ("RS-4.3", "RS-7.3")},
    "call_nothing": {"HR": ("HR-A6",), "RS": ("RS-7.3",)},
    "bet_facing_bet": {"HR": ("HR-12.6",), "RS": ("RS-7.1",)},
    "not_whole_chips": {"HR": ("HR-6.1",), "RS": ("CM-6",)},
    "out_of_turn": {"HR": ("HR-11.6", "HR-12.4", "CM-15"), "RS": ("RS-3.2", "RS-3.4", "RS-4.2", "CM-15")},
    "before_deal_ends": {"HR": ("HR-11.6",), "RS": ("RS-3.1",)},
    "blinds_after_cards": {"HR": ("HR-11.4",), "RS": ("RS-2.3",)},
    "no_shuffle": {"HR": ("HR-16.1",), "RS": ("RS-2.1",)},
    "payout_unfinished": {"HR": ("HR-16.1",), "RS": ("RS-2.1",)},
    "too_few_players": {"HR": ("HR-10.1", "HR-21.2"), "RS": ("RS-A4",)},
    "too_many_players": {"HR": ("HR-21.2",), "RS": ("RS-A4",)},
    "seat_taken": {"HR": ("HR-21.1",), "RS": ("RS-A4",)},
    "buy_in": {"HR": ("HR-9.2", "HR-A2"), "RS": ("RS-A4",)},
    "top_up_in_hand": {"HR": ("HR-9.4", "HR-A4"), "RS": ("CM-22",)},
    "no_rake_decision": {"HR": ("HR-15.6", "HR-A16"), "RS": ("RS-7.8",)},
    "must_show": {"HR": ("HR-15.1", "HR-A10"), "RS": ("CM-8",)},
    "must_show_all_in": {"HR": ("HR-12.16", "CM-8"), "RS": ("CM-8",)},
    "short_all_in_raise": {"HR": ("HR-A27",), "RS": ()},
    "premature_board": {"HR": ("HR-12.6", "CM-13"), "RS": ("RS-3.6", "CM-13")},
    "option_skipped": {"HR": ("HR-12.6", "CM-13"), "RS": ("RS-3.5", "CM-13")},
    "fouled_deck": {"HR": ("HR-8.1", "CM-12"), "RS": ("CM-12",)},
    "foreign_card": {"HR": ("HR-8.1", "CM-11"), "RS": ("CM-11",)},
    "unsure_card": {"HR": ("HR-19.1",), "RS": ("RS-6.2",)},
    "card_conflict": {"HR": ("HR-19.1",), "RS": ("RS-6.2",)},
    "card_exposed_by_player": {"HR": ("HR-11.5",), "RS": ("RS-2.4",)},
    "misdeal": {"HR": ("HR-22.1", "CM-11"), "RS": ("CM-11",)},
    "person_called": {"HR": ("HR-22.1", "CM-23"), "RS": ("CM-23",)},
    "no_burn": {"HR": ("HR-12.1", "CM-9"), "RS": ("RS-A1", "CM-9")},
    "extra_burn": {"HR": ("HR-12.1", "CM-14b"), "RS": ("RS-A1", "CM-14b")},
    "unclear_stake": {"HR": ("HR-12.9", "CM-17"), "RS": ("CM-17",)},
    "wrong_push": {"HR": ("HR-15.4", "HR-12.19"), "RS": ("RS-9.8",)},
    "disputed": {"HR": ("HR-22.1", "HR-15.4", "CM-19"), "RS": ("CM-19", "CM-23")},
    "string_bet": {"HR": ("HR-12.11", "HR-12.13"), "RS": ("CM-16",)},
    "chips_loose": {"HR": ("HR-2.1",), "RS": ("RS-2.3",)},
    "others_chips": {"HR": ("HR-9.3", "CM-22"), "RS": ("CM-22",)},
    "stack_differs": {"HR": ("HR-9.3",), "RS": ("CM-22",)},
    "not_the_stack": {"HR": ("HR-12.14",), "RS": ("RS-7.7",)},
    "device_lost": {"HR": (), "RS": ()},
    "chip_listed": {"HR": ("HR-6.3",), "RS": ()},
    "chip_duplicate": {"HR": ("HR-6.3",), "RS": ()},
    "held": {"HR": ("HR-22.1", "CM-23"), "RS": ("CM-23",)},
    "may_not_rule": {"HR": ("HR-22.1",), "RS": ("CM-23",)},
    "leave_in_hand": {"HR": ("HR-9.5", "HR-A12"), "RS": ("CM-22",)},
    "settings_in_hand": {"HR": ("HR-20.1",), "RS": ("CM-22",)},
    "button_in_hand": {"HR": ("HR-17.1", "CM-18"), "RS": ("RS-2.1", "CM-18")},
}


def ids(key: str, family: Family) -> list[str]:
    """The rule ids behind ``key`` for a profile of this family; empty where the texts say nothing."""
    own = IDS.get(key, {}).get(family) or FAMILIES.get(family, {}).get(key)
    return list(own or FLOOR.get(key, {}).get(family) or CASH.get(key, {}).get(family, ()))
