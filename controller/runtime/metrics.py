"""Numbers for Prometheus, in its text format, over HTTP on loopback. Names, counts and times only: never a card."""

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Literal

import structlog

from controller.errors import LocalError

HOST = "127.0.0.1"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PATIENCE_S = 5.0

_log = structlog.get_logger()

Labels = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Family:
    """One metric: its name, what it is, and a value for each set of labels. The name says the unit."""

    name: str
    kind: Literal["gauge", "counter", "histogram"]
    help: str
    samples: tuple[tuple[str, Labels, float], ...]

    def lines(self) -> Iterable[str]:
        """In the text format."""
        yield f"# HELP {self.name} {self.help}"
        yield f"# TYPE {self.name} {self.kind}"
        for ending, labels, value in self.samples:
            shown = ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items())
            yield f"{self.name}{ending}{{{shown}}} {value:g}" if shown else f"{self.name}{ending} {value:g}"


def gauge(name: str, text: str, value: float) -> Family:
    """A value that goes up and down."""
    return Family(name, "gauge", text, (("", {}, value),))


def counter(name: str, text: str, value: float) -> Family:
    """A value that only grows while the process lives."""
    return Family(name, "counter", text, (("", {}, value),))


def histogram(name: str, text: str, bounds: Iterable[float], counts: Iterable[int], total: float) -> Family:
    """How values spread. ``counts`` has one entry more than ``bounds``: what was above all of them."""
    samples: list[tuple[str, Labels, float]] = []
    seen = 0
    for bound, count in zip([*(f"{bound:g}" for bound in bounds), "+Inf"], counts, strict=True):
        seen += count
        samples.append(("_bucket", {"le": bound}, seen))
    return Family(name, "histogram", text, (*samples, ("_sum", {}, total), ("_count", {}, seen)))


def exposition(families: Iterable[Family]) -> str:
    """All of it, as Prometheus reads it."""
    return "".join(f"{line}\n" for family in families for line in family.lines())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """Serves ``/metrics`` on loopback, one caller at a time. Raises ``LocalError`` for a port that is taken."""

    def __init__(self, port: int, text: Callable[[], str]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = _PATIENCE_S

            def do_GET(self) -> None:
                if self.path != "/metrics":
                    self.send_error(404)
                    return
                body = text().encode()
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
                _log.debug("metrics", said=format % args)

        try:
            self._server = HTTPServer((HOST, port), Handler)
        except OSError as error:
            raise LocalError("metrics.port", port, f"cannot be had ({error.strerror}): name another one") from error
        self.port: int = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        self._thread.start()

    def stop(self) -> None:
        """Answer nobody any more."""
        if self._thread.ident is not None:
            self._server.shutdown()
            self._thread.join(_PATIENCE_S)
        self._server.server_close()
