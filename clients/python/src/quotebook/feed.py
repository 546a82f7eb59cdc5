"""Connections of the feed, and what is followed over them."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Generic, TypeVar

import websockets
from websockets.exceptions import WebSocketException
from websockets.typing import Subprotocol

from .books import LevelBook, QuoteBook
from .errors import ConnectionLostError, EventsLostError, RefusedError
from .sign_in import Credentials
from .subscription import (
    Content,
    CoverContent,
    EventsContent,
    FollowState,
    LevelsContent,
    Listeners,
    Message,
    QuotesContent,
    Reconnect,
    ResyncCause,
    Subscription,
    TickersContent,
)
from .wire import BookChange, Cover, Heartbeat, QuoteEvent, Rfq, Ticker, Trade

logger = logging.getLogger("quotebook")

_SUBPROTOCOL = Subprotocol("quotebook.v2.json")
#: A page of a snapshot has about 100 KB, a snapshot of levels 600 KB.
_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_CLOSE_SECONDS = 2.0
_MAX_DOUBLINGS = 20
#: The answer to AUTH with a key that is unknown or revoked.
_UNKNOWN_KEY = "NOT_FOUND"
#: A connection that cannot be opened or is lost.
CONNECTION_FAILURES = (OSError, WebSocketException, asyncio.TimeoutError, Reconnect)

E = TypeVar("E")
F = TypeVar("F", bound="Followed[Any]")


@dataclass(frozen=True)
class Timeouts:
    """Seconds."""

    #: For a connection to open, and for each answer.
    answer: float = 10.0
    #: For the answer to a call, such as `post_quotes`: a publication waits for its transaction.
    call: float = 120.0
    #: Without any message the connection counts as dead: three heartbeats.
    silence: float = 15.0
    #: The pause before another connection is drawn between `reconnect_min` and a bound that doubles up to
    #: `reconnect_max`: after a restart of the server its readers come back spread out.
    reconnect_min: float = 0.25
    reconnect_max: float = 30.0


@dataclass(frozen=True)
class FeedOptions:
    #: ws: or wss:.
    url: str
    credentials: Credentials
    timeouts: Timeouts


_WebSocketConnect: Any = websockets.connect  # type: ignore[attr-defined]


class _Connect(_WebSocketConnect):  # type: ignore[misc]
    """Follows no redirect: no other server gets the key."""

    def handle_redirect(self, uri: str) -> None:
        raise OSError("A redirect is not followed")

    def process_redirect(self, exc: Exception) -> Exception:
        """The same of websockets 13 and newer."""
        return exc


@asynccontextmanager
async def open_socket(options: FeedOptions) -> AsyncIterator[Any]:
    """An authorised connection. Raises RefusedError for a key that is refused."""
    async with _Connect(
        options.url,
        subprotocols=[_SUBPROTOCOL],
        open_timeout=options.timeouts.answer,
        close_timeout=_CLOSE_SECONDS,
        # Heartbeats show that the server lives.
        ping_interval=None,
        compression=None,
        max_size=_MAX_MESSAGE_BYTES,
    ) as socket:
        if socket.subprotocol != _SUBPROTOCOL:
            raise Reconnect("The server does not speak the feed's subprotocol")
        await _authorize(socket, options)
        yield socket


async def _authorize(socket: Any, options: FeedOptions) -> None:
    while True:
        key = options.credentials.current
        try:
            await _ask(socket, {"type": "AUTH", "apiKey": key, "body": None}, options.timeouts.answer)
            return
        except RefusedError as error:
            # After a session has ended the API key may still be good.
            if str(error) != _UNKNOWN_KEY or not options.credentials.drop(key):
                raise


async def _ask(socket: Any, message: Message, timeout: float) -> Message:
    """Sends a message and waits for its answer, while nothing is followed. Raises RefusedError."""

    async def answer() -> Message:
        await socket.send(json.dumps(message))
        while True:
            received = decoded(await socket.recv())
            if received["type"] in ("INFO", "ERROR"):
                return received

    received = await asyncio.wait_for(answer(), timeout)
    if received["type"] == "ERROR":
        raise RefusedError(received["message"], received.get("code"), received.get("body"))
    return received


def decoded(frame: str | bytes) -> Message:
    try:
        message = json.loads(frame)
    except (ValueError, RecursionError) as error:
        raise Reconnect("A frame is no JSON") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise Reconnect("A message is an object with a type")
    return message


async def ask_once(options: FeedOptions, message: Message) -> None:
    """Sends one message over a connection of its own, and returns when the server has acknowledged it."""
    try:
        async with open_socket(options) as socket:
            await _ask(socket, message, options.timeouts.answer)
    except CONNECTION_FAILURES as error:
        raise ConnectionLostError from error


class EventStream(Generic[E]):
    """Events in their order, from the moment it was made. Iteration ends when what is followed is closed."""

    def __init__(self, followed: Followed[E], max_waiting: int) -> None:
        self._followed = followed
        self._max_waiting = max_waiting
        self._waiting: deque[E] = deque()
        self._has_lost = False
        self._changed = asyncio.Event()
        self._removes = [followed.on_event(self._take), followed.on_state(lambda _: self._changed.set())]

    def __aiter__(self) -> EventStream[E]:
        return self

    async def __anext__(self) -> E:
        while not self._waiting:
            if self._has_lost:
                raise EventsLostError(f"More than {self._max_waiting} events waited to be read")
            if self._followed.state is FollowState.REFUSED:
                raise self._followed.refusal or RefusedError()
            if self._followed.state is FollowState.CLOSED:
                raise StopAsyncIteration
            self._changed.clear()
            await self._changed.wait()
        return self._waiting.popleft()

    def close(self) -> None:
        for remove in self._removes:
            remove()

    def _take(self, event: E) -> None:
        if len(self._waiting) >= self._max_waiting:
            self._has_lost = True
            self.close()
        else:
            self._waiting.append(event)
        self._changed.set()


class Followed(Generic[E]):
    """One channel, over a connection of its own that is replaced whenever it is lost. Made inside of an event loop."""

    def __init__(self, options: FeedOptions, filter_body: Message, content: Content) -> None:
        self._options = options
        self._subscription = Subscription(filter_body, content)
        self._heartbeats = Listeners()
        self._has_changed = asyncio.Event()
        self._subscription.states.add(lambda _: self._has_changed.set())
        self._task = asyncio.get_running_loop().create_task(self._run())

    @property
    def state(self) -> FollowState:
        return self._subscription.state

    @property
    def refusal(self) -> RefusedError | None:
        """Why the server refused; None: it did not."""
        return self._subscription.refusal

    def on_event(self, listener: Callable[[E], None]) -> Callable[[], None]:
        """Listeners run in the order of events; a book is as after the event. Returns a function that removes it."""
        return self._subscription.events.add(listener)

    def on_state(self, listener: Callable[[FollowState], None]) -> Callable[[], None]:
        return self._subscription.states.add(listener)

    def on_resync(self, listener: Callable[[ResyncCause], None]) -> Callable[[], None]:
        """Called when the client repairs a gap or a wrong book, with the cause: GAP, HASH or RESYNC."""
        return self._subscription.resyncs.add(listener)

    def on_heartbeat(self, listener: Callable[[Heartbeat], None]) -> Callable[[], None]:
        """Every few seconds: how both chains look to the server."""
        return self._heartbeats.add(listener)

    def events(self, max_waiting: int = 10_000) -> EventStream[E]:
        """For `async for`. When more than `max_waiting` events wait, the iteration raises EventsLostError."""
        return EventStream(self, max_waiting)

    async def when_live(self, timeout: float | None = None) -> None:
        """Raises RefusedError, ConnectionLostError after `close`, or TimeoutError."""
        await asyncio.wait_for(self._live(), timeout)

    async def close(self) -> None:
        self._subscription.close()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def __aenter__(self: F) -> F:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def _live(self) -> None:
        while self.state is not FollowState.LIVE:
            if self.state is FollowState.REFUSED:
                raise self.refusal or RefusedError()
            if self.state is FollowState.CLOSED:
                raise ConnectionLostError
            self._has_changed.clear()
            await self._has_changed.wait()

    async def _run(self) -> None:
        attempt = 0

        def on_heartbeat(message: Message) -> None:
            nonlocal attempt
            # The connection has lasted: the next loss is a new one.
            attempt = 0
            self._heartbeats.call(message)

        while not self._subscription.is_over:
            try:
                async with open_socket(self._options) as socket:
                    await self._follow(socket, on_heartbeat)
            except RefusedError as error:
                # Other refusals of AUTH are about now, such as too many connections of the key.
                if str(error) == _UNKNOWN_KEY:
                    return self._subscription.refuse(error)
                logger.info("the feed refused: %s", error)
            except CONNECTION_FAILURES as error:
                logger.info("the feed's connection is lost: %r", error)
            if self._subscription.is_over:
                return
            self._subscription.pause()
            await asyncio.sleep(self._pause(attempt))
            attempt += 1

    async def _follow(self, socket: Any, on_heartbeat: Callable[[Message], None]) -> None:
        subscription, timeouts = self._subscription, self._options.timeouts
        loop = asyncio.get_running_loop()
        messages = subscription.start()
        answer_by = loop.time() + timeouts.answer
        while not subscription.is_over:
            for message in messages:
                await socket.send(json.dumps(message))
                answer_by = loop.time() + timeouts.answer
            timeout = timeouts.silence
            if subscription.is_asking:
                timeout = min(timeout, max(0.0, answer_by - loop.time()))
            received = decoded(await asyncio.wait_for(socket.recv(), timeout))
            if received["type"] == "HEARTBEAT":
                on_heartbeat(received)
            try:
                messages = subscription.take(received)
            except Reconnect:
                raise
            except Exception as error:
                # It lacks a field of its type, or has a wrong one there.
                raise Reconnect(f"A message of type {received['type']} is malformed") from error

    def _pause(self, attempt: int) -> float:
        least, most = self._options.timeouts.reconnect_min, self._options.timeouts.reconnect_max
        bound = min(most, max(least, 0.001) * 2.0 ** (min(attempt, _MAX_DOUBLINGS) + 1))
        return least + random.random() * max(0.0, bound - least)


class FollowedQuotes(Followed[QuoteEvent]):
    """Every quote that a filter lets through, and what happens to each."""

    def __init__(self, options: FeedOptions, filter_body: Message) -> None:
        self._content = QuotesContent()
        super().__init__(options, filter_body, self._content)

    @property
    def book(self) -> QuoteBook:
        """Whole only while the state is LIVE."""
        return self._content.book

    def on_snapshot(self, listener: Callable[[QuoteBook], None]) -> Callable[[], None]:
        """The book was replaced: at the start, and where events could not be had again."""
        return self._subscription.snapshots.add(listener)


class FollowedBook(Followed[BookChange]):
    """One pool's price levels. Events: snapshots, which are the whole book, and the levels that change after them."""

    def __init__(self, options: FeedOptions, filter_body: Message) -> None:
        self._content = LevelsContent()
        super().__init__(options, filter_body, self._content)

    @property
    def book(self) -> LevelBook:
        """Whole only while the state is LIVE."""
        return self._content.book

    def on_snapshot(self, listener: Callable[[LevelBook], None]) -> Callable[[], None]:
        """The book was replaced: at the start, and where updates could not be had again. Listeners of events get the
        snapshot, too, after these."""
        return self._subscription.snapshots.add(listener)


class FollowedCover(Followed[Cover]):
    """The quotes that cover one size best. Events: the first cover of every connection, and each one after a change."""

    def __init__(self, options: FeedOptions, filter_body: Message) -> None:
        self._content = CoverContent()
        super().__init__(options, filter_body, self._content)

    @property
    def cover(self) -> Cover | None:
        """None unless the state is LIVE, so before the first cover and while the connection is being replaced."""
        return self._content.cover if self.state is FollowState.LIVE else None

    def on_snapshot(self, listener: Callable[[Cover], None]) -> Callable[[], None]:
        """The first cover of every connection. Listeners of events get it, too, after these."""
        return self._subscription.snapshots.add(listener)


class FollowedTickers(Followed[Ticker]):
    """Best prices and 24 h fills of every pool."""

    def __init__(self, options: FeedOptions, filter_body: Message) -> None:
        self._content = TickersContent()
        super().__init__(options, filter_body, self._content)

    def of(self, pool_address: str) -> Ticker | None:
        return self._content.tickers.get(pool_address.lower())

    def all(self) -> list[Ticker]:
        """In no order; pools that have expired since the last snapshot among them."""
        return list(self._content.tickers.values())

    def on_snapshot(self, listener: Callable[[dict[str, Ticker]], None]) -> Callable[[], None]:
        """All tickers were replaced: at the start, and with every new connection."""
        return self._subscription.snapshots.add(listener)


class FollowedEvents(Followed[QuoteEvent]):
    """Events of quotes from now on, however many quotes there are."""

    def __init__(self, options: FeedOptions, filter_body: Message) -> None:
        super().__init__(options, filter_body, EventsContent("QUOTES"))


class FollowedRfqs(Followed[Rfq]):
    """Takers' requests for quotes from now on."""

    def __init__(self, options: FeedOptions, filter_body: Message) -> None:
        super().__init__(options, filter_body, EventsContent("RFQ"))


class FollowedTrades(Followed[Trade]):
    """Fills on the settlement chain from now on. After `on_resync` some may be missing: GET /trades has them."""

    def __init__(self, options: FeedOptions, filter_body: Message) -> None:
        super().__init__(options, filter_body, EventsContent("TRADES"))
