"""One channel of the feed, without I/O: which messages to send, and what the server's messages change.

A subscription checks the number of each message and the hash of each snapshot and heartbeat. After a gap it asks again
from where it was; if that does not help it takes a snapshot; if that does not help either, another connection.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum
from typing import Any, Literal, Protocol, cast

from .books import LevelBook, QuoteBook
from .errors import RefusedError
from .wire import Cover, Ticker

logger = logging.getLogger("quotebook")

Message = dict[str, Any]
Channel = Literal["QUOTES", "RFQ", "ORDERBOOK", "TICKER", "COVER", "TRADES"]


class FollowState(Enum):
    #: There is no authorised connection just now.
    WAITING = "WAITING"
    #: A snapshot is on its way.
    SYNCING = "SYNCING"
    #: The book is whole, and every event comes.
    LIVE = "LIVE"
    #: The server refused, for good.
    REFUSED = "REFUSED"
    CLOSED = "CLOSED"


#: Why something was put right.
ResyncCause = Literal["GAP", "HASH", "RESYNC"]


class Reconnect(Exception):
    """This connection is of no more use; another may be."""


class Listeners:
    """A listener that raises keeps no other from hearing, and nothing from going on: its error is logged."""

    def __init__(self) -> None:
        self._listeners: list[Callable[[Any], None]] = []

    def add(self, listener: Callable[[Any], None]) -> Callable[[], None]:
        """Returns a function that removes it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def call(self, value: Any) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(value)
            except Exception:
                logger.exception("a listener raised")


class Content(Protocol):
    """The state that the messages of a channel add up to."""

    channel: Channel
    #: False: events alone, no snapshots.
    has_book: bool
    #: False: each connection begins with a snapshot.
    can_resume: bool

    def clear(self) -> None: ...

    def take_snapshot(self, message: Message) -> Literal["MORE", "WHOLE", "WRONG"]: ...

    def hash(self, key: str) -> str | None:
        """None: the channel has no hashes."""

    def apply(self, message: Message) -> object:
        """Returns the event that listeners get; None: it is not for them."""

    def snapshot_event(self, message: Message) -> object:
        """The argument of listeners of snapshots."""

    def event_of_snapshot(self, message: Message) -> object:
        """The event that listeners of events get for a whole snapshot; None: they get none."""


class QuotesContent:
    channel: Channel = "QUOTES"
    has_book = True
    can_resume = True

    def __init__(self) -> None:
        self.book = QuoteBook()

    def clear(self) -> None:
        self.book.clear()

    def take_snapshot(self, message: Message) -> Literal["MORE", "WHOLE", "WRONG"]:
        key = message["key"]
        for quote in message["body"]:
            self.book.set(key, quote)
        if message["more"]:
            return "MORE"
        return "WHOLE" if self.book.hash(key) == message["hash"] else "WRONG"

    def hash(self, key: str) -> str | None:
        return self.book.hash(key)

    def apply(self, message: Message) -> object:
        if message["type"] not in _QUOTE_EVENTS:
            return None
        self.book.apply(message)  # type: ignore[arg-type]
        return message

    def snapshot_event(self, message: Message) -> object:
        return self.book

    def event_of_snapshot(self, message: Message) -> object:
        return None


class LevelsContent:
    channel: Channel = "ORDERBOOK"
    has_book = True
    can_resume = True

    def __init__(self) -> None:
        self.book = LevelBook()

    def clear(self) -> None:
        self.book.clear()

    def take_snapshot(self, message: Message) -> Literal["MORE", "WHOLE", "WRONG"]:
        self.book.set(message["body"])
        return "WHOLE" if self.book.hash == message["levelsHash"] else "WRONG"

    def hash(self, key: str) -> str | None:
        return self.book.hash

    def apply(self, message: Message) -> object:
        if message["type"] != "ORDERBOOK_UPDATE":
            return None
        self.book.set(message["body"])
        return message

    def snapshot_event(self, message: Message) -> object:
        return self.book

    def event_of_snapshot(self, message: Message) -> object:
        return message


class TickersContent:
    channel: Channel = "TICKER"
    has_book = True
    can_resume = False

    def __init__(self) -> None:
        self.tickers: dict[str, Ticker] = {}

    def clear(self) -> None:
        self.tickers.clear()

    def take_snapshot(self, message: Message) -> Literal["MORE", "WHOLE", "WRONG"]:
        for ticker in message["body"]:
            self.tickers[ticker["poolAddress"]] = ticker
        return "MORE" if message["more"] else "WHOLE"

    def hash(self, key: str) -> str | None:
        return None

    def apply(self, message: Message) -> object:
        if message["type"] != "TICKER":
            return None
        ticker: Ticker = message["body"]
        self.tickers[ticker["poolAddress"]] = ticker
        return ticker

    def snapshot_event(self, message: Message) -> object:
        return self.tickers

    def event_of_snapshot(self, message: Message) -> object:
        return None


class CoverContent:
    """The newest message is the whole cover."""

    channel: Channel = "COVER"
    has_book = True
    can_resume = False

    def __init__(self) -> None:
        self.cover: Cover | None = None

    def clear(self) -> None:
        self.cover = None

    def take_snapshot(self, message: Message) -> Literal["MORE", "WHOLE", "WRONG"]:
        self.cover = cast(Cover, message["body"])
        return "WHOLE"

    def hash(self, key: str) -> str | None:
        return None

    def apply(self, message: Message) -> object:
        if message["type"] != "COVER":
            return None
        self.cover = cast(Cover, message["body"])
        return self.cover

    def snapshot_event(self, message: Message) -> object:
        return self.cover

    def event_of_snapshot(self, message: Message) -> object:
        return self.cover


class EventsContent:
    """Events of QUOTES, RFQ or TRADES from now on, without a book."""

    has_book = False
    can_resume = True

    def __init__(self, channel: Literal["QUOTES", "RFQ", "TRADES"]) -> None:
        self.channel: Channel = channel

    def clear(self) -> None:
        pass

    def take_snapshot(self, message: Message) -> Literal["MORE", "WHOLE", "WRONG"]:
        return "WRONG"

    def hash(self, key: str) -> str | None:
        return None

    def apply(self, message: Message) -> object:
        return message if message["type"] in _EVENTS[self.channel] else None

    def snapshot_event(self, message: Message) -> object:
        return None

    def event_of_snapshot(self, message: Message) -> object:
        return None


_QUOTE_EVENTS = frozenset(
    f"{what}_QUOTE"
    for what in (
        "POST",
        "FILL",
        "REMOVE",
        "CANCEL",
        "EXPIRE",
        "INVALIDATE",
        "REVALIDATE",
        "UNDO",
        "WITHDRAW",
        "RESTORE",
    )
)
_SNAPSHOTS = frozenset(("QUOTES_SNAPSHOT", "ORDERBOOK_SNAPSHOT", "TICKER_SNAPSHOT"))
_RFQ_EVENTS = frozenset(("RFQ", "RFQ_UPDATE"))
_TRADE_EVENTS = frozenset(("TRADE", "UNDO_TRADES"))
_EVENTS = {"QUOTES": _QUOTE_EVENTS, "RFQ": _RFQ_EVENTS, "TRADES": _TRADE_EVENTS}
_UPDATES = _QUOTE_EVENTS | _RFQ_EVENTS | _TRADE_EVENTS | {"ORDERBOOK_UPDATE"}

#: Codes of refusals that hold until the key has proven more: another try would be refused as well.
_FINAL_REFUSALS = frozenset(("taker_not_proven", "missing_scope"))
#: Codes of refusals that a later try may pass.
_PASSING_REFUSALS = frozenset(("rate_limited", "too_many_channels", "too_many_covers"))
#: An older server sends no codes.
_RATE_LIMITED_TEXT = "RATELIMITED"


class _Positions:
    """How far each key has come."""

    def __init__(self) -> None:
        self._at: dict[str, int] = {}
        self._confirmed = -1

    @property
    def complete(self) -> int | None:
        """Everything of all keys up to here has come; None before the first."""
        return max(self._confirmed, min(self._at.values())) if self._at else None

    def set(self, key: str, seq: int) -> None:
        self._at[key] = seq

    def resume_from(self, seq: int) -> None:
        for key, at in self._at.items():
            self._at[key] = max(at, seq)

    def confirm(self, seq: int) -> None:
        """The server has sent everything up to here. It moves no key: what was lost on the way must still show."""
        self._confirmed = max(self._confirmed, seq)

    def clear(self) -> None:
        self._at.clear()
        self._confirmed = -1

    def take(self, key: str, seq: int, prev_seq: int) -> Literal["NEXT", "SEEN", "GAP"]:
        at = self._at.get(key)
        if at is None or prev_seq > at:
            self._confirmed = -1
            return "GAP"
        if seq <= at:
            return "SEEN"
        self._at[key] = seq
        return "NEXT"


class Subscription:
    def __init__(self, filter_body: Message, content: Content) -> None:
        #: The body of FILTER without the place to begin at.
        self._filter = filter_body
        self._content = content
        self._positions = _Positions()
        self._keys: list[str] = []
        self._epoch: str | None = None
        #: Keys whose snapshots have not come.
        self._awaited: set[str] = set()
        #: Answers to FILTER that are outstanding. Messages before them belong to the FILTER before.
        self._is_asking = False
        self._asked_from: int | None = None
        self._tried: Literal["NOTHING", "RESUME", "SNAPSHOT"] = "NOTHING"
        self.state = FollowState.WAITING
        #: Why the server refused.
        self.refusal: RefusedError | None = None
        self.states = Listeners()
        self.resyncs = Listeners()
        self.events = Listeners()
        self.snapshots = Listeners()

    @property
    def is_over(self) -> bool:
        return self.state in (FollowState.REFUSED, FollowState.CLOSED)

    @property
    def is_asking(self) -> bool:
        return self._is_asking

    def start(self) -> list[Message]:
        """The connection is authorised: go on from the last event, or begin."""
        return self._ask(None if self._awaited else self._positions.complete)

    def pause(self) -> None:
        """The connection is lost."""
        self._is_asking = False
        if not self.is_over:
            self._enter(FollowState.WAITING)

    def refuse(self, error: RefusedError) -> None:
        self.refusal = error
        self._enter(FollowState.REFUSED)

    def close(self) -> None:
        self._enter(FollowState.CLOSED)

    def take(self, message: Message) -> list[Message]:
        """Takes a message of the server; returns those to send. Raises Reconnect, or KeyError and the like for a
        message without the fields of its type, after which the connection is of no more use either."""
        if self.is_over:
            return []
        kind = message["type"]
        if kind == "INFO":
            return self._on_acknowledged(message["body"]) if self._is_asking else []
        if kind == "ERROR":
            error = RefusedError(message["message"], message.get("code"), message.get("body"))
            return self._on_refused(error) if self._is_asking else []
        if self._is_asking:
            return []
        try:
            return self._read(kind, message)
        except Exception:
            # The book may have changed by half.
            if self._content.has_book:
                self._positions.clear()
            raise

    def _read(self, kind: str, message: Message) -> list[Message]:
        if kind == "HEARTBEAT":
            return self._compare(message)
        if kind == "RESYNC":
            self._start_anew(message)
        elif message.get("key") not in self._keys:
            pass
        elif kind in _SNAPSHOTS or (kind == "COVER" and message["key"] in self._awaited):
            self._take_snapshot(message)
        elif kind in ("TICKER", "COVER"):
            if self._awaited:
                return self._resync("GAP", None)
            self._call(self._content.apply(message))
        elif kind in _UPDATES:
            return self._take_numbered(message)
        # Types that a newer server may have change nothing here.
        return []

    def _ask(self, from_seq: int | None) -> list[Message]:
        epoch = self._epoch if self._content.can_resume else None
        body = dict(self._filter)
        resumes = from_seq is not None and epoch is not None
        if resumes:
            body |= {"epoch": epoch, "fromSeq": from_seq}
        if self._content.channel == "QUOTES":
            if not self._content.has_book:
                body["snapshot"] = False
            elif not resumes:
                body["snapshot"] = True
        self._is_asking = True
        self._asked_from = from_seq if resumes else None
        if not resumes:
            self._enter(FollowState.SYNCING)
        return [{"type": "FILTER", "channel": self._content.channel, "body": body}]

    def _on_acknowledged(self, place: Message | None) -> list[Message]:
        self._is_asking = False
        if place is None:
            raise Reconnect("The server acknowledged no channel")
        keys, seq, epoch = list(place["keys"]), int(place["seq"]), str(place["epoch"])
        # If the server cannot resume, it acknowledges another place than the one asked for.
        resumed = seq == self._asked_from and epoch == self._epoch
        self._keys, self._epoch = keys, epoch
        if not resumed:
            self._begin(keys, seq)
            return []
        self._positions.resume_from(seq)
        self._enter(FollowState.LIVE)
        return []

    def _on_refused(self, error: RefusedError) -> list[Message]:
        """A refusal before the first start is final unless it may pass; one after it is retried unless it is final."""
        self._is_asking = False
        is_passing = error.code in _PASSING_REFUSALS or str(error) == _RATE_LIMITED_TEXT
        is_final = error.code in _FINAL_REFUSALS or (self._epoch is None and not is_passing)
        is_too_large = str(error).startswith("Too many quotes for a snapshot")
        if is_final:
            self.refuse(error)
        elif not is_too_large:
            raise Reconnect(str(error))
        elif not self._content.has_book and self._asked_from is not None:
            self._positions.clear()
            messages = self._ask(None)
            self.resyncs.call("RESYNC")
            return messages
        else:
            self.refuse(error)
        return []

    def _begin(self, keys: list[str], seq: int) -> None:
        self._positions.clear()
        self._awaited.clear()
        self._content.clear()
        if self._content.has_book:
            self._awaited.update(keys)
            self._enter(FollowState.SYNCING)
        else:
            for key in keys:
                self._positions.set(key, seq)
            self._enter(FollowState.LIVE)

    def _start_anew(self, message: Message) -> None:
        if message["channel"] != self._content.channel:
            return
        self._keys, self._epoch = list(message["keys"]), str(message["epoch"])
        self._begin(self._keys, int(message["seq"]))
        self.resyncs.call("RESYNC")

    def _take_snapshot(self, message: Message) -> None:
        if not self._content.has_book:
            return
        # A reader of ORDERBOOK that was too slow gets a snapshot that it has not asked for.
        if message["key"] not in self._awaited:
            self._content.clear()
        taken = self._content.take_snapshot(message)
        if taken == "MORE":
            return
        if taken == "WRONG":
            self._give_up()
        self._awaited.discard(message["key"])
        # Tickers have no numbers to go on from.
        self._positions.set(message["key"], int(message["seq"]))
        if not self._awaited:
            self._enter(FollowState.LIVE)
            self.snapshots.call(self._content.snapshot_event(message))
            self._call(self._content.event_of_snapshot(message))

    def _take_numbered(self, message: Message) -> list[Message]:
        if self._awaited:
            return self._resync("GAP", None)
        arrival = self._positions.take(message["key"], int(message["seq"]), int(message["prevSeq"]))
        if arrival == "GAP":
            # From the key that is furthest behind: of another, more may be lost than this message shows.
            return self._resync("GAP", self._positions.complete)
        if arrival == "NEXT":
            self._tried = "NOTHING"
            self._call(self._content.apply(message))
        return []

    def _compare(self, message: Message) -> list[Message]:
        """A heartbeat names a book only when everything of it has been sent."""
        if not self._content.has_book:
            self._positions.confirm(int(message["seq"]))
            return []
        listed = [book for book in message["books"] if book["key"] in self._keys]
        if listed and self._awaited:
            return self._resync("GAP", None)
        if any(self._content.hash(book["key"]) != book["hash"] for book in listed):
            return self._resync("HASH", None)
        if len(listed) == len(self._keys):
            self._positions.confirm(int(message["seq"]))
        return []

    def _resync(self, why: ResyncCause, from_seq: int | None) -> list[Message]:
        """`from_seq` None: asking again from there would not help."""
        self.resyncs.call(why)
        if self.is_over:
            return []
        if self._tried == "SNAPSHOT":
            self._give_up()
        can_resume = from_seq is not None and self._tried == "NOTHING"
        self._tried = "RESUME" if can_resume else "SNAPSHOT"
        if can_resume:
            return self._ask(from_seq)
        self._positions.clear()
        return self._ask(None)

    def _give_up(self) -> None:
        self._tried = "NOTHING"
        self._positions.clear()
        raise Reconnect("The book does not equal the server's")

    def _call(self, event: object) -> None:
        if event is not None:
            self.events.call(event)

    def _enter(self, state: FollowState) -> None:
        if self.state is state or self.is_over:
            return
        self.state = state
        self.states.call(state)
