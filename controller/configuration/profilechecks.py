"""What contradicts what in a profile: each as a key and a remedy that names the rule behind it."""

from collections.abc import Iterator

from controller.configuration import ultimateprofile
from controller.configuration.profilefile import ProfileFile

Contradiction = tuple[str, str]
"""The key to blame and what to do about it."""


def contradictions(read: ProfileFile) -> Iterator[Contradiction]:
    """Everything that cannot stand together in one profile."""
    yield from _numbers(read)
    yield from _papers(read)
    if read.game != "ultimate":
        yield from _betting(read)
        yield from _of_the_text(read)
        for key in sorted(ultimateprofile.KEYS & read.model_fields_set):
            yield key, f"{read.game} is not played with boxes: take it out, or set game = ultimate"
    else:
        yield from ultimateprofile.contradictions(read, lithuanian=read.family == "LT")
        if read.family != "LT":
            yield "family", "only the Lithuanian text knows Ultimate: set LT"


def _numbers(read: ProfileFile) -> Iterator[Contradiction]:
    if read.players_min > read.players_max:
        yield "players_min", f"is above players_max = {read.players_max}: lower it, or raise players_max"
    low, high = read.buy_in_min_bb, read.buy_in_max_bb
    if low is not None and high is not None and low > high:
        yield "buy_in_min_bb", f"is above buy_in_max_bb = {high}: lower it, or raise buy_in_max_bb"
    cards = {"holdem": 2, "omaha": 4, "ultimate": 2}[read.game]
    if read.own_cards != cards:
        yield "own_cards", f"{read.game} is played with {cards} own cards: set {cards}"


def _papers(read: ProfileFile) -> Iterator[Contradiction]:
    if read.status == "approved" and not any(approval.of == "rules" for approval in read.approvals):
        yield "status", 'needs an entry in [[approvals]] with of = "rules": add it, or set status = "draft"'
    rake = read.rake
    if read.family == "BG" and rake is not None and rake.rate and not any(a.of == "rake" for a in read.approvals):
        yield "rake.rate", 'BG-2.3: the approved rake rules must be named: add [[approvals]] with of = "rake"'


def _betting(read: ProfileFile) -> Iterator[Contradiction]:
    if read.structure not in read.structures:
        rule = "BG-6.1: " if read.family == "BG" else ""
        yield "structure", f"{rule}the profile allows {', '.join(read.structures)}: choose one of them"
    if read.min_raise == "last_full_increment" and read.pot_limit_rule == "amount_in":
        yield "min_raise", "BG-A2: amount_in leaves no room for a full raise: set any_greater or another pot_limit_rule"
    if read.min_raise == "any_greater" and "fixed_limit" in read.structures:
        yield "min_raise", "fixed limit prescribes the raise: set last_full_increment, or take fixed_limit out"
    if read.dead_small_blind and read.button_rule != "dead":
        yield "dead_small_blind", "only a dead button knows a dead small blind: set button_rule = dead, or false"


def _of_the_text(read: ProfileFile) -> Iterator[Contradiction]:
    """What no reading of a text can change: a house that plays otherwise does not play by it (rules.md 7)."""
    if read.family == "BG":
        for structure in read.structures:
            if structure == "fixed_limit":
                yield "structures", "BG-6.1: only pot limit and no limit are allowed: take fixed_limit out"
        if read.raise_cap is not None:
            yield "raise_cap", "BG-5.12: a player may raise several times in a round: set none"
        if not read.require_cut:
            yield "require_cut", "BG-4.4: the deck is cut before every hand: set true"
    if read.family in ("HR", "BG") and not read.show_all:
        rule = "HR-15.1" if read.family == "HR" else "BG-5.27"
        yield "show_all", f"{rule}: all remaining hands are opened: set true"
    if read.family in ("HR", "BG") and read.game == "omaha":
        yield "game", "the text knows Texas Hold'em only: set holdem"
    if read.family == "HR":
        if read.raise_cap != 3:
            yield "raise_cap", "HR-11.8: at most three raises in each round: set 3"
        if read.button_rule != "dead":
            yield "button_rule", "HR-17.1: the button goes to the former small blind: set dead"
    if read.family == "LT":
        yield "family", "the text knows Ultimate Texas Hold'em only: set game = ultimate"
    limit = {"HR": 10, "BG": 11}.get(read.family, 11)
    if read.players_max > limit:
        yield "players_max", f"{read.family}: at most {limit} players: lower it"
