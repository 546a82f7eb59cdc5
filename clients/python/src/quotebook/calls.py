"""Calls over a connection of the feed, each answered under its id."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, suppress
from itertools import count
from typing import Any

from .errors import ConnectionLostError, RefusedError
from .feed import CONNECTION_FAILURES, FeedOptions, decoded, open_socket
from .subscription import Listeners, Message


class SocketCalls:
    """One connection for all calls of a client, opened with the first of them and again after a loss."""

    def __init__(self, options: FeedOptions) -> None:
        self._options = options
        self._opening: asyncio.Task[_Link] | None = None
        self._is_closed = False
        #: Each change of the key's requests for quotes, while the connection is open.
        self.rfq_statuses = Listeners()

    async def open(self) -> None:
        """Raises RefusedError, or ConnectionLostError."""
        await self._link()

    async def authorize(self) -> None:
        """An open connection goes on with the client's present credentials. Raises RefusedError."""
        if self._opening is None or _is_over(self._opening):
            return
        # The next connection begins with them.
        with suppress(ConnectionLostError):
            await (await self._link()).authorize()

    async def call(self, message: Message) -> Any:
        """The body of the answer. Raises RefusedError, or ConnectionLostError when the call may have been carried out."""
        link = await self._link()
        return await link.ask(message)

    async def close(self) -> None:
        """Calls under way raise ConnectionLostError."""
        self._is_closed = True
        opening, self._opening = self._opening, None
        if opening is None:
            return
        if not opening.done():
            opening.cancel()
        (link,) = await asyncio.gather(opening, return_exceptions=True)
        if isinstance(link, _Link):
            await link.close()

    async def _link(self) -> _Link:
        if self._is_closed:
            raise ConnectionLostError
        if self._opening is None or _is_over(self._opening):
            self._opening = asyncio.get_running_loop().create_task(_Link.open(self._options, self.rfq_statuses))
        opening = self._opening
        try:
            # A caller that gives up must not take the connection from the others.
            return await asyncio.shield(opening)
        except CONNECTION_FAILURES as error:
            raise ConnectionLostError from error
        except asyncio.CancelledError as error:
            if opening.cancelled():
                raise ConnectionLostError from error
            raise


class _Link:
    """An open connection, and the calls that wait for their answers on it."""

    def __init__(self, options: FeedOptions, socket: Any, exits: AsyncExitStack, rfq_statuses: Listeners) -> None:
        self._options = options
        self._rfq_statuses = rfq_statuses
        self._socket = socket
        self._exits = exits
        self._ids = count(1)
        self._waiting: dict[str, asyncio.Future[Message]] = {}
        self.is_lost = False
        self._reading = asyncio.get_running_loop().create_task(self._read())

    @classmethod
    async def open(cls, options: FeedOptions, rfq_statuses: Listeners) -> _Link:
        exits = AsyncExitStack()
        return cls(options, await exits.enter_async_context(open_socket(options)), exits, rfq_statuses)

    async def ask(self, message: Message) -> Any:
        if self.is_lost:
            raise ConnectionLostError
        call_id = str(next(self._ids))
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._waiting[call_id] = answer
        try:
            await self._socket.send(json.dumps({**message, "id": call_id}))
            received = await asyncio.wait_for(answer, self._options.timeouts.call)
        except CONNECTION_FAILURES as error:
            raise ConnectionLostError from error
        finally:
            self._waiting.pop(call_id, None)
        if received["type"] == "ERROR":
            raise RefusedError(received["message"], received.get("code"), received.get("body"))
        return received["body"]

    async def authorize(self) -> None:
        await self.ask({"type": "AUTH", "apiKey": self._options.credentials.current, "body": None})

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        try:
            while True:
                # Heartbeats come when nothing else does.
                frame = await asyncio.wait_for(self._socket.recv(), self._options.timeouts.silence)
                message = decoded(frame)
                if message["type"] == "RFQ_STATUS":
                    self._rfq_statuses.call(message)
                answer = self._waiting.get(str(message.get("id")))
                if answer is not None and not answer.done():
                    answer.set_result(message)
        except CONNECTION_FAILURES:
            pass
        finally:
            self.is_lost = True
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_exception(ConnectionLostError())
            await self._exits.aclose()


def _is_over(opening: asyncio.Task[_Link]) -> bool:
    """It failed, or its connection is lost: another call needs another."""
    if not opening.done():
        return False
    return opening.cancelled() or opening.exception() is not None or opening.result().is_lost
