"""One table from errors to what callers see: the exit code of `kb`, the HTTP status, the problem type (RFC 9457)."""

from __future__ import annotations

from typing import NamedTuple

from kb.errors import (
    BadRequest,
    BrokenOff,
    GenerationFailed,
    IndexMismatch,
    KBError,
    LibraryBusy,
    LimitExceeded,
    MissingDependency,
    NotFound,
    StorageFailed,
    Truncated,
    Unauthorized,
    UnreadableSource,
    UnsafeSettings,
    UnsupportedSource,
)

TYPE_PREFIX = "urn:vllm-notes-kb:problem:"

OK = 0
SOME_FAILED = 1
USAGE = 2
REFUSED = 3
NOT_FOUND = 4
ENVIRONMENT = 5
GENERATION = 6
BELOW_FLOOR = 7
UNEXPECTED = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # what a shell reports for SIGINT
OUTPUT_CLOSED = 141  # … and for SIGPIPE

EXIT_CODES: dict[int, str] = {
    OK: "done",
    SOME_FAILED: "some files could not be read; the others are in the library",
    USAGE: "the request is wrong: an unknown option, an empty question, an ambiguous name",
    REFUSED: "refused: the library has no evidence for an answer",
    NOT_FOUND: "no such source, talk, article or library",
    ENVIRONMENT: "the surroundings do not allow it: library busy, disk full, index of another recipe, weights missing",
    GENERATION: "the language model did not give what was asked",
    BELOW_FLOOR: "the evaluation fell below its floor",
    UNEXPECTED: "a fault of this program; please report it",
    INTERRUPTED: "stopped with Ctrl-C; what was finished is kept",
    OUTPUT_CLOSED: "whatever read the output, such as `head`, went away",
}


class Problem(NamedTuple):
    exit_code: int
    status: int
    slug: str
    title: str
    remedy: str  # the next step, where the error names none of its own

    @property
    def type(self) -> str:
        return TYPE_PREFIX + self.slug


_DOCTOR = "`kb doctor` says what is missing"
_MODEL = "Try again; if it fails again, look at the model's server"
PROBLEMS: dict[type[KBError], Problem] = {
    BadRequest: Problem(USAGE, 400, "bad-request", "The request cannot be met", "Change the request"),
    Unauthorized: Problem(ENVIRONMENT, 401, "unauthorized", "A key is needed", "Send the key as a bearer token"),
    NotFound: Problem(NOT_FOUND, 404, "not-found", "Not found", "`kb ls` lists what there is"),
    IndexMismatch: Problem(
        ENVIRONMENT, 409, "index-mismatch", "The index was built by another recipe", "Build it anew: kb rebuild"
    ),
    LimitExceeded: Problem(SOME_FAILED, 413, "limit-exceeded", "Too large", "Split it"),
    UnsupportedSource: Problem(
        SOME_FAILED, 415, "unsupported-source", "No reader for this kind of file", "Save it as another kind of file"
    ),
    UnreadableSource: Problem(
        SOME_FAILED, 422, "unreadable-source", "The file could not be read", "Mend the file and add it again"
    ),
    UnsafeSettings: Problem(
        ENVIRONMENT, 500, "unsafe-settings", "These settings must not be served", "docs/settings.md lists the settings"
    ),
    GenerationFailed: Problem(GENERATION, 502, "generation-failed", "The language model failed", _MODEL),
    Truncated: Problem(GENERATION, 502, "truncated", "The language model's answer was cut", "Raise KB_LLM_MAX_TOKENS"),
    BrokenOff: Problem(GENERATION, 502, "broken-off", "The language model's answer broke off", _MODEL),
    LibraryBusy: Problem(ENVIRONMENT, 503, "library-busy", "The library is busy", "Try again in a moment"),
    StorageFailed: Problem(ENVIRONMENT, 507, "storage-failed", "The library's folder cannot be used", _DOCTOR),
    MissingDependency: Problem(ENVIRONMENT, 503, "missing-dependency", "Something is not installed", _DOCTOR),
    KBError: Problem(UNEXPECTED, 500, "error", "The request failed", "Report it, with what you did"),
}


def problem_of(error: KBError) -> Problem:
    """The row of the error's class, or of its nearest ancestor."""
    return next(PROBLEMS[kind] for kind in type(error).__mro__ if kind in PROBLEMS)


def error_of(problem_type: str) -> type[KBError]:
    """The inverse, for clients of the HTTP service; `KBError` for a type that this version does not know."""
    return next((kind for kind, problem in PROBLEMS.items() if problem.type == problem_type), KBError)
