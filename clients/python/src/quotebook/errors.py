"""Errors of the client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class QuotebookError(Exception):
    """Base of all errors of this package."""


class RefusedError(QuotebookError):
    """The server answered a WebSocket message with ERROR; the text is the server's."""

    def __init__(self, message: str = "", code: str | None = None, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        #: Stable name of the error; None: an older server sent none.
        self.code = code
        #: Members that the HTTP answer of a call would have besides, such as `pending`; None: nothing.
        self.details = details
        retry_after_ms = (details or {}).get("retryAfterMs")
        #: Milliseconds until a retry makes sense, where the server says so.
        self.retry_after_ms: int | None = retry_after_ms if isinstance(retry_after_ms, int) else None


class ConnectionLostError(QuotebookError):
    """The connection ended before the answer came: the server may have processed the message, or not."""

    def __init__(self) -> None:
        super().__init__("The connection ended before the answer came")


class EventsLostError(QuotebookError):
    """A reader of events was too slow: more waited than its limit. The book is not affected."""


class ApiError(QuotebookError):
    """A call was answered with a status other than 2xx, or with something that is not JSON."""

    def __init__(self, status: int, body: object, headers: Mapping[str, str]) -> None:
        fields: Mapping[str, Any] = body if isinstance(body, dict) else {}
        # Problem details (RFC 9457) have the list in a member; an older server sends the list alone.
        problems = fields.get("errors", body)
        code, retryable, param = fields.get("code"), fields.get("retryable"), fields.get("param")
        #: HTTP status.
        self.status = status
        #: Stable name of the error (docs/reference/errors.md); None: a proxy or an older server answered.
        self.code: str | None = code if isinstance(code, str) else None
        #: Whether the same call may succeed later; None: as of `code`.
        self.retryable: bool | None = retryable if isinstance(retryable, bool) else None
        #: The one input at fault: its name, or its place in the body, parted by dots; None: none, or not said.
        self.param: str | None = param if isinstance(param, str) else None
        #: Of a 400: what is wrong with the query or the body, in AJV's words; else empty.
        self.problems: list[Mapping[str, Any]] = list(problems) if isinstance(problems, list) else []
        #: Of a 504 of `post_quotes`: ids that may still enter; else empty.
        self.pending: list[str] = list(fields.get("pending") or [])
        retry_after = headers.get("retry-after", "")
        #: Seconds until a retry makes sense, where the server says so.
        self.retry_after: int | None = int(retry_after) if retry_after.isdecimal() else None
        oldest = fields.get("oldest")
        oldest_seq = oldest.get("seq") if isinstance(oldest, dict) else None
        #: Of a 410: the oldest event that the server still answers about; else None.
        self.oldest_seq: int | None = oldest_seq if isinstance(oldest_seq, int) else None
        #: Finds the call in the server's log.
        self.request_id: str | None = headers.get("x-request-id")
        message = fields.get("detail", fields.get("message"))
        if self.problems:
            first = self.problems[0]
            text = f"{first.get('instancePath') or 'the request'} {first.get('message')}"
        elif isinstance(message, str):
            text = message
        else:
            text = f"HTTP {status}"
        super().__init__(text)
