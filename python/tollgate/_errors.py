"""Exceptions of the package."""

from __future__ import annotations

__all__ = ["ArgumentError", "InternalError", "PolicyError", "RecordError", "RunError", "TollgateError"]


class TollgateError(Exception):
    """An error of tollgate, with the next thing to try.

    Attributes:
        message: The problem.
        hint: The next thing to try; None if there is none.
    """

    message: str
    hint: str | None

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        if self.hint is None:
            return self.message
        return f"{self.message}\nhint: {self.hint}"


class ArgumentError(TollgateError, ValueError):
    """An argument that is not understood, or that does not fit the record."""


class RecordError(TollgateError):
    """A record that cannot be read, or has no job that ran."""


class RunError(TollgateError):
    """A replay without a result: a policy could not decide on every job."""


class InternalError(TollgateError):
    """A defect of tollgate. Please report it."""


class PolicyError(RunError):
    """A policy in Python answered what it must not: the message names the method, the job and the time."""
