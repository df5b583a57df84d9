"""What is just being written, on its way from the one who writes to the one who sends, past the ledger.

Rows are told twice: when their commit begins, so that their messages can be made ready while the disk syncs, and when
it has ended. Only then do they leave. The ledger has all that is missed here.
"""

import time
from collections import deque
from collections.abc import Callable, Container, Sequence

from controller.delivery.flight import Flight
from controller.delivery.publisher import Message, Publisher
from controller.ledger.outbox import Unsent


class Fresh:
    """Filled by the thread that writes, emptied by the one that sends.

    At most ``most`` rows: the oldest fall out where nobody sends.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._rows: deque[Unsent | None] = deque(maxlen=most)
        self._coming: Sequence[Unsent] = ()

    def expect(self, written: Sequence[Unsent]) -> None:
        """These rows are being committed; where they are too many, they are read from the ledger."""
        self._coming = written if len(written) <= self._most else ()

    def put(self, written: Sequence[Unsent]) -> None:
        """These rows are durable; none where only the ledger knows which."""
        self._rows.extend(written or (None,))

    def take(self, flight: Flight, publisher: Publisher) -> None:
        """What was staged goes; what follows on it is sent next; where that does not follow, the ledger is asked.

        Raises ``TakenBack`` where it is not what was staged.
        """
        staged = bool(flight.staged)
        while self._rows:
            item = self._rows.popleft()
            if flight.staged:
                flight.became(item)
                continue
            last = flight.ready[-1].row if flight.ready else flight.read_to
            if item is None or item.row > last + 1 or len(flight.ready) >= self._most:
                flight.more = True
            elif item.row > last and not flight.more:
                flight.ready.append(item)
        if staged and not flight.staged:
            publisher.release()
            flight.released()

    def stage(
        self,
        flight: Flight,
        publisher: Publisher,
        as_message: Callable[[Unsent], Message],
        *,
        room: int,
        but: Container[str],
    ) -> None:
        """Make ready what is being committed, as far as there is ``room``, where nothing else is to be sent before it.

        ``but``: streams that are welcome nowhere at present. Raises ``BrokerError``.
        """
        rows, self._coming = self._coming[: max(0, room)], ()
        if rows and flight.moving and flight.follows(rows[0]) and not any(row.stream in but for row in rows):
            tokens = publisher.stage([as_message(row) for row in rows])
            flight.staged.extend(zip(tokens, rows, strict=False))
            flight.staged_at = time.monotonic()
