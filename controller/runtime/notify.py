"""Talking to systemd: READY, STOPPING, the watchdog. Nothing happens where no service manager listens."""

import os
import socket
from collections.abc import Mapping


class Notifier:
    """Sends states to ``NOTIFY_SOCKET``, a path or an abstract name."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        environ = os.environ if environ is None else environ
        name = environ.get("NOTIFY_SOCKET", "")
        self._address = "\0" + name[1:] if name.startswith("@") else name
        self.watchdog_s = _watchdog(environ)

    def send(self, *states: str) -> bool:
        """Send states such as ``READY=1``. ``False`` where nobody listens; that is no reason to stop."""
        if not self._address:
            return False
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as peer:
                # Never wait for the service manager: a full buffer costs one state, not the table.
                peer.setblocking(False)
                peer.sendto("\n".join(states).encode(), self._address)
        except OSError:
            return False
        return True


def _watchdog(environ: Mapping[str, str]) -> float | None:
    """The watchdog's period in seconds, or ``None`` where this process is not watched."""
    usec, pid = environ.get("WATCHDOG_USEC", ""), environ.get("WATCHDOG_PID", "")
    if not usec.isdecimal() or (pid and pid != str(os.getpid())):
        return None
    return int(usec) / 1e6
