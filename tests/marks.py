"""Which rule a test shows, and the proof that it does.

``@broken("HR-11.8")``: somebody breaks it and the table reacts; ``@kept``: it is obeyed and nothing is said;
``@shows``: a decision or configuration comes out as it says. While a marked test runs, every record of every core is
watched: a rule that a test says to break has to be named by a breach, incident, refusal or fault, and one that it
says to keep must not be.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from controller.core.out import Out
from controller.core.records import Record

ID = re.compile(r"\b(?:(?:HR|BG|RS|LT)-(?:A\d+|\d+\.\d+)|CM-\d+b?)\b")
"""A rule by its full id; a mere article (``LT-2``) names none."""
NAMING = ("breach.noted", "incident.opened", "action.refused", "bet.refused", "incident.ruled", "hand.redealt")
BAD = ("BLOCK", "FLAG", "HOLD")

_witnessed: set[str] = set()


def broken(*rules: str) -> pytest.MarkDecorator:
    """The test breaks these rules and sees the reaction."""
    return pytest.mark.rule(*rules, side="broken")


def kept(*rules: str) -> pytest.MarkDecorator:
    """The test keeps these rules and sees that nothing is said."""
    return pytest.mark.rule(*rules, side="kept")


def shows(*rules: str) -> pytest.MarkDecorator:
    """The test shows what these rules decide."""
    return pytest.mark.rule(*rules, side="shown")


def witness(text: object) -> None:
    """A fault that is no record (a refused configuration): the rules that its text names count as broken."""
    _witnessed.update(ID.findall(str(text)))


def watch(request: pytest.FixtureRequest) -> Iterator[None]:
    """Hold a marked test to its word."""
    marks = list(request.node.iter_markers("rule"))
    if not marks:
        yield
        return
    said = {side: {rule for m in marks if m.kwargs["side"] == side for rule in m.args} for side in ("broken", "kept")}
    named: set[str] = set()
    wrong: set[str] = set()
    put: Any = Out._put

    def watched(out: Out, record: Record) -> Record:
        data = record.data
        rules = [*data.get("rules", ()), *data.get("against_rules", ()), *filter(None, [data.get("read_as")])]
        if record.type in NAMING or "read_as" in data:
            named.update(rules)
        if data.get("reaction") in BAD or record.type == "incident.opened":
            wrong.update(data["rules"][:1])
        done: Record = put(out, record)
        return done

    _witnessed.clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Out, "_put", watched)
        yield
    unseen = said["broken"] - named - _witnessed
    assert not unseen, f"nothing named {sorted(unseen)}; named were {sorted(named | _witnessed)}"
    spoken = (said["kept"] - said["broken"]) & wrong
    assert not spoken, f"{sorted(spoken)} was said to be kept, and the table found it broken"
