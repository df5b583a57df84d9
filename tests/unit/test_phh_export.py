"""Hands leave the ledger in PHH: the same actions, cards and stacks as they came in."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pokerkit
import pytest

from controller.exports.phh import NotExportable, hands, phh
from controller.ledger.keys import load_auditor_key
from controller.ledger.reading import read_records
from simulators import rehearse
from tests.felt import HR, Felt, setup
from tests.running import ROOT

SAME = (
    "variant", "ante_trimming_status", "antes", "blinds_or_straddles", "min_bet", "small_bet", "big_bet",
    "starting_stacks",
)  # fmt: skip


def exported(felt: Felt, **more: Any) -> dict[str, Any]:
    (hand,) = hands(felt.records)
    return tomllib.loads(phh(hand, **more))


def test_a_hand_in_one_view() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([1000, 1000, 1000])
    felt.deal({1: "AsAd", 2: "7c2d", 3: "KhKd"}, board="2c3c4d5h9s")
    felt.act("r300", "c", "f").street().act("k", "b200", "c").street().act("k", "k").street().act("k", "k")
    felt.show(1, 3).done()
    out = exported(felt, currency="EUR", exponent=0)
    assert out["actions"] == [
        *("d dh p1 AsAd", "d dh p2 7c2d", "d dh p3 KhKd", "p3 cbr 300", "p1 cc", "p2 f", "d db 2c3c4d"),
        *("p1 cc", "p3 cbr 200", "p1 cc", "d db 5h", "p1 cc", "p3 cc", "d db 9s", "p1 cc", "p3 cc"),
        *("p1 sm AsAd", "p3 sm KhKd"),
    ]
    assert out["blinds_or_straddles"] == [50, 100, 0]
    assert out["finishing_stacks"] == [1600, 900, 500]
    assert out["seats"] == [1, 2, 3]
    assert out["currency"] == "EUR"


def test_without_the_key_only_opened_cards_are_named() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([1000, 1000, 1000]).deal({1: "AsAd", 2: "7c2d", 3: "KhKd"})
    felt.act("f", "f").done()
    for record in felt.records:
        record.secret = None
    assert exported(felt)["actions"] == ["d dh p1 ????", "d dh p2 ????", "d dh p3 ????", "p3 f", "p1 f"]


def test_cents_become_units_of_the_currency() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([10_050, None]).deal()
    felt.act("r250", "f").done()
    out = exported(felt, currency="EUR", exponent=2)
    assert out["starting_stacks"] == [100.5, float("inf")]
    assert (out["blinds_or_straddles"], out["min_bet"]) == ([0.5, 1], 1)
    assert "p2 cbr 2.5" in out["actions"]
    assert "finishing_stacks" not in out  # nobody counted them


def test_what_was_taken_back_was_not_said() -> None:
    from controller.core.facts import Undone

    felt = Felt(setup(blinds=(50, 100))).open([1000, 1000, 1000]).deal()
    felt.act("r300")
    felt.do(Undone())
    felt.act("f", "f").done()
    assert [act for act in exported(felt)["actions"] if act[0] == "p"] == ["p3 f", "p1 f"]


@pytest.mark.parametrize("ante", ["each", "big_blind"])
def test_antes(ante: str) -> None:
    table = setup(blinds=(50, 100))
    felt = Felt(table)
    felt.say("open", button=3, limits={"small_blind": 50, "big_blind": 100, "ante": 25, "ante_kind": ante})
    for seat in (1, 2, 3):
        felt.say("seat", seat=seat, stack=1000)
    felt.deal().act("f", "f").done()
    out = exported(felt)
    assert out["antes"] == ([25, 25, 25] if ante == "each" else [0, 25, 0])
    assert out["ante_trimming_status"] is (ante == "each")


@pytest.mark.parametrize("profile", [None, HR])
def test_pokerkit_plays_the_exported_heads_up_hand_to_the_same_end(profile: Any) -> None:
    table = setup(blinds=(50, 100)) if profile is None else setup(profile=profile, blinds=(50, 100))
    felt = Felt(table).open([1000, 1000]).deal({1: "AsAd", 2: "KhKd"}, board="2c3c4d5h9s")
    felt.act("c", "k").street().act("b100", "c").street().act("k", "k").street().act("k", "k")
    felt.show(1, 2).done()
    (hand,) = hands(felt.records)
    history = pokerkit.HandHistory.loads(phh(hand))
    *_, end = history
    assert list(end.stacks) == history.finishing_stacks == [1200, 800]


def test_unfinished_and_voided_hands_are_refused_by_name() -> None:
    felt = Felt(setup(blinds=(50, 100))).open([1000, 1000, 1000]).deal()
    (hand,) = hands(felt.records)
    with pytest.raises(NotExportable, match="it is not finished"):
        phh(hand)


@pytest.mark.needs_shared
def test_recorded_hands_come_back_as_they_were(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data" / "phh"
    wsop = sorted((folder / "wsop-2023-43").glob("*.phh"))
    pluribus = sorted((folder / "pluribus" / "42b").glob("*.phh"))[:40]
    found = rehearse.find([folder / "dwan-ivey-2009.phh", *wsop, *pluribus])
    ledger = tmp_path / "ledger"
    cases = rehearse.run(found, rehearse.Ask(), ledger, quiet=True)
    played = [one for one, case in zip(found, cases, strict=True) if case.outcome != "skipped"]
    assert len(played) > 45
    records = read_records(ledger, auditor=load_auditor_key(Path(f"{ledger}.card-key")))
    for one, hand in zip(played, hands(records), strict=True):
        source, out = tomllib.loads(one.path.read_text()), tomllib.loads(phh(hand))
        same = [key for key in SAME if key in source]
        assert {key: out[key] for key in same} == {key: source[key] for key in same}, one.name
        assert out["finishing_stacks"] == source.get("finishing_stacks", out["finishing_stacks"]), one.name
        assert len(out["actions"]) == len(source["actions"]), one.name
        for theirs, ours in zip(source["actions"], out["actions"], strict=True):
            assert re.fullmatch(re.escape(theirs).replace(r"\?", "."), ours), one.name
    command = [sys.executable, "-m", "controller.cli", "export", str(ledger), "--format", "phh"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=60).stdout
    assert len(tomllib.loads(told)) == len(played)
