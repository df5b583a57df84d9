"""Logs: one JSON object a line in production, plain lines on a terminal.

A log line names devices, types and counts. It never holds frame bytes, card values or tags: whoever logs
passes fields by name, and the fields below are taken out whatever happens.
"""

import logging
import sys
from typing import Any, TextIO

import structlog

from controller.runtime import crash

NEVER = frozenset({"card", "cards", "tag", "tags", "salt", "seed", "secret", "frame", "bytes", "password"})
"""Fields that no log line may carry."""


def configure(*, json_lines: bool, level: int = logging.INFO, stream: TextIO | None = None) -> None:
    """Set up logging for the process, once. ``stream`` is standard error unless given."""
    last: Any = (
        structlog.processors.JSONRenderer(sort_keys=False)
        if json_lines
        else structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _withhold,
            structlog.processors.ExceptionRenderer(crash.render),
            last,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=stream or sys.stderr),
        cache_logger_on_first_use=True,
    )


def _withhold(_logger: Any, _method: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
    for name in NEVER & event.keys():
        event[name] = "withheld"
    return event
