"""Logs: one JSON object a line on stderr, ids rather than texts."""

from __future__ import annotations

import logging
import sys

import structlog


def configure(level: str) -> None:
    """Log events of `level` (debug, info, warning, error) and above."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),  # the stream of the moment
    )
