"""What regulators ask, what feltd does, and which test shows it: ``python -m tests.regulation`` writes the page.

The rows follow the anchors that this project was given; texts marked as unconfirmed there are marked here. A test is
named by its function alone and must exist; a row without one is plainly not covered.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "regulation.md"


@dataclass(frozen=True, slots=True)
class Row:
    """One requirement. ``gap``: what of it feltd does not do, or does not show."""

    number: int
    asked: str
    anchor: str
    does: str
    shown: tuple[str, ...] = ()
    gap: str = ""

    @property
    def state(self) -> str:
        """In a word."""
        return "not covered" if not self.shown else "partly" if self.gap else "covered"


ROWS = (
    Row(
        1,
        "After any interruption the table stands where it stood, pending errors included; self-tests end "
        "before anything is sent.",
        "9 NYCRR 5319.54; GLI-24/25 (unconfirmed)",
        "State is rebuilt from the ledger's records alone and equals what it was; an open incident stays "
        "open; a hand that "
        "was cut waits until a person lets it go on, and what antennas read otherwise enters as facts. Configuration, "
        "ledger end and software are checked before a device is opened or the broker is met. One queue "
        "orders all inputs.",
        (
            "test_restored_equals_live_after_every_input",
            "test_kill_in_the_middle_of_a_hand_loses_nothing",
            "test_a_power_cut_loses_nothing_that_was_durable",
            "test_a_table_that_is_killed_again_and_again_loses_nothing",
            "test_chips_that_were_moved_meanwhile_are_an_action",
            "test_a_hand_that_was_cut_waits_until_a_person_lets_it_go_on",
        ),
    ),
    Row(
        2,
        "Critical memory is checked for errors; clearing and changing it leaves a trace of who, what, old and new.",
        "9 NYCRR 5316.11; GLI-24 (headings)",
        "Every event is hashed into a chain and signed; the end is checked at start, the whole file in the "
        "background, and a "
        "fault is an incident. Nothing is ever changed, so there is no old value: a correction is a new "
        "event with its person.",
        (
            "test_any_changed_byte_is_found",
            "test_nothing_is_ever_edited",
            "test_a_ruling_moves_the_pot_to_whom_it_belongs",
            "test_a_changed_row_is_an_incident_and_no_reason_not_to_start",
        ),
        "There is no procedure that clears memory: a new ledger is begun, linked to the one before.",
    ),
    Row(
        3,
        "The last hands can be recalled with cards, actions, stakes and pays in order, also while something is wrong.",
        "UKGC Bingo & Casino TR; COMAR 36.07.06.08; N.J.A.C. 13:69E-1.31; GLI count (unconfirmed)",
        "`feltd ledger` recalls any hand from the file, with or without a running daemon; unopened cards "
        "with the auditor's key.",
        (
            "test_the_last_hands_in_their_order_and_closed_cards_for_the_auditor_only",
            "test_recall_and_search_reach_back_into_the_archived_files",
        ),
    ),
    Row(
        4,
        "A log of significant events with time, device and code, power failure and open doors included.",
        "9 NYCRR 5317.26",
        "Stream `ops`: start, stop, recovery, clock steps, each device up, lost or in trouble (an open lid "
        "of a shoe included).",
        (
            "test_a_device_that_is_missing_at_the_start_is_told_and_waited_for",
            "test_a_step_is_told_once_and_slewing_never",
        ),
        "No sensor for the door of the device itself or for its battery.",
    ),
    Row(
        5,
        "Event and accounting data cannot be changed without supervised access; the log can be searched.",
        "9 NYCRR 5317.40 (c)(2),(4),(8)",
        "A row is frozen by the database, the chain and the signature. `feltd ledger` searches by hand, "
        "seat, type, incident and time.",
        (
            "test_nothing_is_ever_edited",
            "test_a_chain_made_anew_is_found_by_the_signature",
            "test_what_is_asked_for_is_found",
            "test_a_seat_is_found_wherever_an_event_names_it_and_a_number_of_seats_is_none",
        ),
    ),
    Row(
        6,
        "An audit trail of money, errors and events, backed up and kept safe.",
        "UKGC 3.1",
        "The broker receives every event; the back office archives the bytes and finds gaps. Archived "
        "ledgers stay on the device.",
        ("test_all_that_is_on_the_device_is_in_the_office", "test_a_gap_is_found_and_filled"),
        "Where backups are stored, and how safely, is the house's.",
    ),
    Row(
        7,
        "Errors of device, payment and security are detected, shown, and lock play where it is affected.",
        "UKGC 4.1",
        "A breach or device trouble that needs a person is an incident; it holds the seat, the hand or the "
        "table until ruled.",
        ("test_a_lost_shoe_bars_the_next_hand_until_it_is_back", "test_i_19_a_push_to_another_seat_is_held"),
    ),
    Row(
        8,
        "A full log stops what would write to it and is an error; nothing unsent is overwritten.",
        "9 NYCRR 5317.40 (c)(1)(ii)",
        "Told at 80, 90 and 100 per cent; at the last a hand ends and none begins. Only what the broker has "
        "is ever archived.",
        ("test_a_full_ledger_lets_a_hand_end_and_none_begin", "test_it_stays_where_it_is_while_it_must"),
    ),
    Row(
        9,
        "Links detect errors, are encrypted, and components authenticate each other.",
        "9 NYCRR 5319.60(a); 5321.12(c)",
        "TLS with certificates on both sides to the broker; signed events; checksums of every device "
        "protocol that has them.",
        ("test_tls_with_certificates_on_both_sides", "test_no_kind_of_fault_makes_a_hand_silently_wrong"),
        "Serial and USB devices do not authenticate themselves: model and serial number are compared, nothing more.",
    ),
    Row(
        10,
        "A lost link is told at once; play may go on where nobody is disadvantaged; a store-and-forward buffer.",
        "UKGC 5.2; La. 42:III.2825; GLI-13/11 (unconfirmed)",
        "Events wait in the ledger and are delivered in order later; `link.lost` and `link.restored` name "
        "the range; `feltd health` "
        "and metrics tell it on the device.",
        (
            "test_a_long_outage",
            "test_events_reach_a_broker_that_comes_late",
            "test_a_full_ledger_is_told_and_bars_new_hands_only",
        ),
    ),
    Row(
        11,
        "The clock is synchronised and changes of it are logged.",
        "UKGC (heading); rest unconfirmed",
        "Each step is recorded as `clock.stepped` with whether the kernel holds the clock for synchronised. "
        "Order never uses it.",
        (
            "test_a_step_is_a_step_in_both_directions_also_during_sleep",
            "test_a_clock_that_is_set_and_a_machine_that_sleeps_are_told_apart",
        ),
        "Synchronising is the operating system's.",
    ),
    Row(
        12,
        "Software is authenticated at start and on demand; what is not approved does not run.",
        "9 NYCRR 5321.8; G2S brochure; GLI-24 (unconfirmed)",
        "`software.sha256` names the approved program, by every file of it, code, schema, profiles and rules: "
        "another one does not start. `daemon.started` carries hash and result; `feltd software` tells them on demand.",
        (
            "test_only_what_was_approved_is_verified_and_runs",
            "test_a_file_that_was_changed_after_its_installation_is_named",
            "test_the_hash_covers_every_file_by_content_and_by_name",
            "test_bytecode_that_was_laid_beside_an_approved_source_is_not_executed",
        ),
        "The check runs in the program it checks. Interpreter, libraries and operating system are not "
        "covered; bytecode is kept out by the unit alone; no GAT interface.",
    ),
    Row(
        13,
        "Individual accounts, no generic ones; log-ins recorded with name, time and result; lock-out.",
        "9 NYCRR 5317.40 (c)(3),(5)-(7)",
        "A PIN a person (scrypt), names of functions refused, five failures lock out for 15 minutes, over "
        "a restart too, each attempt is `staff.login`.",
        (
            "test_no_generic_names",
            "test_every_failure_is_recorded_and_tells_nothing",
            "test_five_failures_lock_a_person_out_until_time_has_passed",
            "test_whoever_is_locked_out_stays_so_when_the_daemon_is_killed",
            "test_a_table_with_a_staff_file_believes_nobody_without_a_pin",
        ),
    ),
    Row(
        14,
        "The computer is sealed or under dual control; opening it is logged and tampering reported.",
        "9 NYCRR 5321.12(b); 5319.60(b); N.J.A.C. 13:69E-1.20(c)",
        "Nothing: no seal, no door contact. Changes of the stored data are found by chain and signature.",
        (),
        "A matter of the cabinet and the house.",
    ),
    Row(
        15,
        "Access logs are kept 90 days, disputed hands a year, accounts for years.",
        "9 NYCRR 5319.60(b)(2); N.J.A.C. 13:69E-1.31, 1.18A(b); 5 years (unconfirmed)",
        "Nothing is deleted by itself; old files are archived whole and only a person prunes them.",
        ("test_old_files_are_listed_and_deleted_by_a_person_only",),
        "No period is enforced, and no video is kept.",
    ),
    Row(
        16,
        "Errors of the dealer can be put right and complaints handled.",
        "N.J.A.C. 13:69E-1.28P(d)",
        "Undo of an entry, incidents with a proposal, misdeals and exact replays, rulings with reason, "
        "disputes until a hand is final.",
        (
            "test_a_called_misdeal_is_redealt_as_an_exact_replay",
            "test_i4_premature_flop_is_dealt_again_without_a_second_burn",
        ),
    ),
    Row(
        17,
        "Test mode never moves live meters, is visible, and leaves no trace in them.",
        "9 NYCRR 5319.58",
        "A property of configuration and signing key: own ledger, topic root `felt-test`, `test: true` in "
        "every event, entering and "
        "leaving recorded; keys of one mode are refused in the other.",
        (
            "test_a_rehearsal_says_so_from_its_first_to_its_last_word",
            "test_a_key_of_rehearsals_signs_nothing_live_and_the_reverse",
            "test_a_verifier_of_one_mode_takes_nothing_of_the_other",
            "test_test_money_never_reaches_a_live_ledger",
        ),
    ),
    Row(
        18,
        "Decks are checked for missing and extra cards, with a receipt; a wrong deck leaves the table.",
        "N.J.A.C. 13:69E-1.18A(b)4; COMAR 36.05.03.27 C; 58 Pa. Code 680a.9(d)",
        "`deck.verified` with count, method and person; a deck that is not whole bars the deal until it is changed.",
        ("test_51_cards_bar_the_deal_and_the_missing_card_is_sealed", "test_a_fouled_deck_leaves_the_table"),
        "No interface to a counting shuffler; the stub is not counted every few rounds.",
    ),
    Row(
        19,
        "A missing, extra, marked or foreign card is reported at once.",
        "Arrete of 14 May 2007, art. 40",
        "A card of another deck and a card that comes twice hold the hand as incidents; they are published "
        "within the second.",
        ("test_i13_a_card_of_another_deck_holds_the_hand", "test_a_fouled_deck_is_one_incident_however_often_it_shows"),
        "Marked cards are seen by people only; reporting to an authority is the house's.",
    ),
    Row(
        20,
        "Shufflers and shoes meet tests of randomness and tell nobody anything that helps.",
        "opengov.gr p=3768; COMAR 36.05.02.17; GLI-29 (parts)",
        "What a shoe or antenna knows of a closed card leaves the process only once that card lies open.",
        (
            "test_hands_of_a_shoe_table_give_nothing_away",
            "test_hands_of_a_table_with_antennas_give_nothing_away",
            "test_rounds_of_boxes_give_nothing_away",
            "test_a_subscriber_cannot_tell_the_two_tables_apart",
            "test_a_retired_key_stands_nowhere_any_more_also_not_in_the_log",
        ),
        "feltd shuffles nothing and tests no randomness.",
    ),
    Row(
        21,
        "Chips enter and leave the tray only for named reasons.",
        "COMAR 36.05.03.02",
        "Buy-ins, redemptions, exchanges, fills and credits are booked against the tray; a count that differs, also at "
        "slip close, is counted twice more and accepted by two persons only.",
        (
            "test_chips_are_changed_at_equal_value_only",
            "test_a_float_that_differs_from_the_book_is_looked_at_before_the_table_closes",
            "test_i31_is_accepted_after_two_recounts_with_two_signatures_only",
            "test_chips_and_money_are_conserved_over_random_days",
        ),
        "No commission; a marker is booked like cash.",
    ),
    Row(
        22,
        "Opener and closer: value a denomination, total, signatures of dealer and supervisor, at each shift.",
        "COMAR 36.05.03.02; St Lucia reg. 30.04",
        "`tray.counted` with lines, total, number, shift and two persons; who signs second proves it with a PIN.",
        (
            "test_a_table_closes_with_a_count_that_two_sign",
            "test_a_shift_change_is_counted_and_attestations_of_the_old_one_lapse",
            "test_the_second_signature_takes_the_second_persons_pin",
        ),
        "No slip is printed.",
    ),
    Row(
        23,
        "Fill and credit slips with a number, amounts a denomination, requester, and a stored copy.",
        "La. 42:III.2717",
        "`slip.requested`, then `slip.completed` with two signatures or `slip.cancelled` with a reason: number without "
        "holes, time, shift, table, lines, total and requester. No event is ever changed, by pit or cage.",
        (
            "test_a_fill_is_requested_signed_by_two_and_moves_the_float",
            "test_who_may_ask_for_chips_and_sign_for_them",
            "test_numbers_of_slips_go_on_over_sessions_and_restarts",
            "test_slips_are_numbered_on_after_a_restart_from_the_ledger",
            "test_slips_boxes_and_meters_survive_a_kill",
            "test_i31_a_tray_that_differs_at_slip_close_holds_new_fills_until_it_is_counted_right",
        ),
        "No slip is printed.",
    ),
    Row(
        24,
        "Meters: buy-in, drop, fills, credits, opener, closer, rake, tips, bets and wins a position.",
        "N.J.A.C. 13:69E-1.28P(e),(f); 9 NYCRR 5321.12(e); formula unconfirmed",
        "`meter.read` each hour, at shift, close and on request, derived from records alone, with the events it "
        "covers; `feltoffice sums` makes the same sums from the events and tells each shift's win.",
        (
            "test_meters_are_the_sums_of_the_records",
            "test_a_restart_leaves_no_hour_out_and_reads_none_twice",
            "test_bets_and_wins_of_a_round_of_boxes_by_spot",
            "test_a_reading_of_the_meters_says_how_far_it_covers_both_streams",
            "test_the_office_checks_the_sums_of_a_day",
            "test_chips_are_conserved_and_recovery_equals_play",
        ),
    ),
    Row(
        25,
        "Rake goes into a box of the table; its rate is posted; a national rounding.",
        "Arrete of 14 May 2007, art. 57-2",
        "Rate, cap and rounding (down, nearest or up) are the profile's; what is dropped is held against what is due, "
        "and `rake.collected` says what should lie in the box and what was counted.",
        (
            "test_rake_is_rounded_as_the_house_says",
            "test_bg_5_30_another_amount_is_held_until_it_is_put_right",
            "test_rake_and_tips_go_into_boxes_of_their_own",
        ),
        "No sensor watches the box itself; the sign is the house's.",
    ),
    Row(
        26,
        "Found and forgotten stakes are recorded and paid in as orphans.",
        "Arrete of 14 May 2007, art. 41",
        "`orphan.found` with amount and place, by a person or by antennas that see chips at the place of nobody for a "
        "minute; a meter of its own, kept apart from the tray.",
        (
            "test_chips_at_the_place_of_nobody_are_orphans_after_a_minute",
            "test_meters_are_the_sums_of_the_records",
        ),
        "That they are paid in at the cash desk is on no record; boxes of Ultimate are watched by people.",
    ),
    Row(
        27,
        "Malfunction voids pays and plays: a posted rule.",
        "common; GLI-11/25 (unconfirmed)",
        "A person can void a hand for any trouble; all stakes go back and the cards stay sealed. The sign is "
        "the house's.",
        ("test_a_called_misdeal_is_redealt_as_an_exact_replay",),
        "Nothing is voided by itself, and no text is posted.",
    ),
)


def places() -> dict[str, str]:
    """Each test function and the file it stands in."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            found.setdefault(name, path.relative_to(ROOT).as_posix())
    return found


def render() -> str:
    """The page. Raises ``KeyError`` for a test that does not exist."""
    where = places()
    counts = {state: sum(row.state == state for row in ROWS) for state in ("covered", "partly", "not covered")}
    lines = [
        "# Regulation",
        "",
        (
            "Made by `python -m tests.regulation`; do not edit. What each anchor asks is told in our own words "
            "and is no legal"
        ),
        "advice. *Unconfirmed*: nobody of this project has seen the text.",
        "",
        f"{counts['covered']} of {len(ROWS)} covered, {counts['partly']} partly, {counts['not covered']} not covered.",
    ]
    for row in ROWS:
        lines += ["", f"## {row.number}. {row.asked}", "", f"*{row.anchor}* - **{row.state}**", "", row.does]
        if row.gap:
            lines += ["", f"Not covered: {row.gap}"]
        lines += ["", *(f"* `{where[name]}::{name}`" for name in row.shown)] if row.shown else []
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
    sys.exit(0)
