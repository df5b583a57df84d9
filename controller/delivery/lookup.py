"""Where a broker's name leads. Asked in a thread of its own: nothing can end a question that no name server answers."""

import queue
import socket
import threading
from collections import deque

from controller.delivery.errors import BrokerError


class Lookup:
    """The addresses of one name, one after the other; asked for anew when all were tried."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._found: deque[str] = deque()
        self._asking = False
        self._answers: queue.SimpleQueue[list[str] | OSError] = queue.SimpleQueue()

    def next(self, timeout_s: float) -> str:
        """The next address to try. Raises ``BrokerError`` where none is known within ``timeout_s``."""
        if not self._found:
            self._found.extend(self._ask(timeout_s))
        return self._found.popleft()

    def _ask(self, timeout_s: float) -> list[str]:
        """One question at a time: one that is still open is waited for again."""
        if not self._asking:
            self._asking = True
            threading.Thread(target=self._resolve, name="lookup", daemon=True).start()
        try:
            answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise self._unknown("no name server answers") from None
        self._asking = False
        if isinstance(answer, OSError):
            raise self._unknown(str(answer)) from answer
        return answer

    def _resolve(self) -> None:
        try:
            found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            self._answers.put(error if isinstance(error, OSError) else OSError(str(error)))
        else:
            self._answers.put(list(dict.fromkeys(str(address[0]) for *_, address in found)))

    def _unknown(self, why: str) -> BrokerError:
        return BrokerError("unreachable", f"broker {self._host}: where it is cannot be found: {why}")
