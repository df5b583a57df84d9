"""An entry that no rule forbids and that makes no sense now."""

from typing import Any

from controller.core.facts import Sources
from controller.core.out import Out, cite


def refuse(out: Out, tried: str, seat: int | None, why: str, evidence: Sources) -> None:
    """``action.refused`` for an entry that no rule forbids but that makes no sense now; nothing changes."""
    data: dict[str, Any] = {"seat": seat, "tried": {"kind": tried, "to": None}, "rules": [], "allowed": [], "why": why}
    if out.state.hand is not None:
        out.hand("action.refused", data, "keyed", evidence)
        return
    out.emit("play", "action.refused", out.setup.table, data | {"basis": "keyed", "evidence": cite(evidence)})
