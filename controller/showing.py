"""The retained snapshot: how the table stands, told when that has changed. All of it is in the events as well."""

from dataclasses import dataclass, field

from controller.contract.state import snapshot_body
from controller.core.picture import picture
from controller.core.table import Table
from controller.ledger.store import Ledger


@dataclass(slots=True)
class Looked:
    """What the core answered: open incidents, the session, and row and body of a snapshot where there is a new one."""

    incidents: int
    session: str | None
    shown: tuple[int, bytes] | None


@dataclass(slots=True)
class Showing:
    """Looks at a table. ``look`` is for the core's thread, between two commits: state and ledger agree there."""

    ledger: Ledger
    _last: int = field(default=-1, init=False)

    def look(self, table: Table) -> Looked:
        """The snapshot is true up to the head of ``play``; with no new event in ``play`` there is no new one."""
        state, head = table.session.state, self.ledger.head("play").sequence
        looked = Looked(len(state.incidents), state.session, None)
        if head != self._last:
            self._last = head
            body = snapshot_body(self.ledger.id, head, test=table.setup.test, picture=picture(table.setup, state))
            looked.shown = self.ledger.row, body
        return looked
