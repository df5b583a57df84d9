"""A ledger that fills or is damaged: what the table may still do, and that a restart knows it."""

from controller.core.facts import HandAttested
from controller.core.inputs import Input, Notice
from controller.core.session import Session
from controller.core.table import Table
from tests.felt import Felt, through_json


def notice(felt: Felt, kind: str, **data: object) -> list[str]:
    table = Table(felt.setup)
    table.session = felt.session
    records = table.feed(Input(0, felt.at, felt.at, Notice(kind, data)))
    felt.records += records
    return [record.type for record in records]


def full(felt: Felt, refused: bool) -> None:
    told = {"used": 99, "limit": 100, "oldest_unsent": None, "new_hands_refused": refused}
    assert notice(felt, "ledger.filling", **told) == ["ledger.filling"]


def test_a_full_ledger_lets_a_hand_end_and_none_begin() -> None:
    felt = Felt().open([5000, 5000]).deal()
    full(felt, refused=True)
    felt.act("f").done()
    assert felt.all("hand.closed"), "records are never refused"
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    assert [(r.type, r.data["reaction"], r.data["what"]) for r in felt.last] == [
        ("breach.noted", "BLOCK", "storage_full")
    ]
    full(felt, refused=False)
    felt.do(HandAttested())
    assert felt.session.state.hand is not None


def test_a_restart_knows_that_the_ledger_is_full_also_after_a_new_opening() -> None:
    felt = Felt().open([5000, 5000])
    full(felt, refused=True)
    assert Session.restore(felt.setup, through_json(felt.records)).state == felt.session.state
    felt.say("close")
    felt.records.clear()
    felt.open([5000, 5000])
    restored = Session.restore(felt.setup, through_json(felt.records)).state
    assert restored.storage_full
    assert restored == felt.session.state


def test_damage_is_one_incident_that_a_person_rules_on() -> None:
    felt = Felt().open([5000, 5000])
    assert notice(felt, "ledger.fault", faults=1, first="row 3") == ["incident.opened"]
    assert notice(felt, "ledger.fault", faults=2, first="row 3") == []
    opened = felt.all("incident.opened")[0]
    assert (opened["code"], opened["kind"], opened["facts"]["faults"]) == ("I-32", "ledger_fault", 1)
    felt.session.seed(bytes(32))
    felt.do(HandAttested())
    assert felt.last[0].data["what"] == "held"
    felt.say("rule", "manager", "the copy was compared", incident="I-32")
    assert [record.type for record in felt.last] == ["incident.ruled", "incident.closed"]
    felt.do(HandAttested())
    assert felt.session.state.hand is not None
