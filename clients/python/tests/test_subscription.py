"""Numbers and hashes, message by message, with the messages that the documentation shows."""

from __future__ import annotations

import copy
import json
from typing import Any, get_args, get_type_hints

import pytest

from quotebook import FollowState
from quotebook.subscription import (
    Content,
    CoverContent,
    EventsContent,
    LevelsContent,
    QuotesContent,
    Reconnect,
    Subscription,
)
from quotebook.wire import QuoteEvent

from .conftest import VECTORS

MESSAGES: dict[str, dict[str, Any]] = {
    each["name"]: each["json"] for each in json.loads((VECTORS / "feed-messages.json").read_text())
}
FILTER = {"chainId": "421613"}
EMPTY_HASH = f"0x{0:064x}"


def of_type(kind: str) -> dict[str, Any]:
    return copy.deepcopy(next(message for message in MESSAGES.values() if message["type"] == kind))


def acknowledged(seq: int, epoch: str = "5f0c1d2e9a7b4c38") -> dict[str, Any]:
    key = of_type("QUOTES_SNAPSHOT")["key"]
    return {"type": "INFO", "body": {"channel": "QUOTES", "keys": [key], "seq": seq, "epoch": epoch}, "message": ""}


def post(seq: int, prev_seq: int) -> dict[str, Any]:
    return {**of_type("POST_QUOTE"), "seq": seq, "prevSeq": prev_seq}


class Reader:
    """A subscription of QUOTES that is live after event 4711."""

    def __init__(self) -> None:
        self.content = QuotesContent()
        self.subscription = Subscription(FILTER, self.content)
        self.resyncs: list[str] = []
        self.events: list[int] = []
        self.subscription.resyncs.add(self.resyncs.append)
        self.subscription.events.add(lambda event: self.events.append(event["seq"]))
        (asked,) = self.subscription.start()
        assert asked == {"type": "FILTER", "channel": "QUOTES", "body": {**FILTER, "snapshot": True}}
        self.take(acknowledged(4711))
        assert self.subscription.state is FollowState.SYNCING
        self.take(of_type("QUOTES_SNAPSHOT"))
        assert self.subscription.state is FollowState.LIVE

    def take(self, message: dict[str, Any]) -> list[dict[str, Any]]:
        return self.subscription.take(message)


def test_a_snapshot_and_a_heartbeat_have_the_documented_hash() -> None:
    reader = Reader()
    snapshot, heartbeat = of_type("QUOTES_SNAPSHOT"), of_type("HEARTBEAT")
    assert reader.content.hash(snapshot["key"]) == snapshot["hash"]
    assert snapshot["key"] in [book["key"] for book in heartbeat["books"]]
    assert reader.take(heartbeat) == []
    assert reader.resyncs == []


def test_levels_have_the_documented_hash() -> None:
    content, snapshot = LevelsContent(), of_type("ORDERBOOK_SNAPSHOT")
    assert content.take_snapshot(snapshot) == "WHOLE"
    assert content.book.hash == snapshot["levelsHash"]
    assert [level.price for level in content.book.bids] == sorted(level.price for level in content.book.bids)[::-1]
    assert content.take_snapshot({**snapshot, "levelsHash": EMPTY_HASH}) == "WRONG"


def test_each_event_counts_once() -> None:
    reader = Reader()
    for message in (post(4712, 4711), post(4712, 4711), post(4715, 4712), post(4715, 4700)):
        assert reader.take(message) == []
    assert reader.events == [4712, 4715]


def test_after_a_gap_it_goes_on_from_where_it_was() -> None:
    reader = Reader()
    (asked,) = reader.take(post(4720, 4715))
    assert asked["body"] == {**FILTER, "epoch": "5f0c1d2e9a7b4c38", "fromSeq": 4711}
    assert reader.resyncs == ["GAP"]
    assert reader.take(post(4721, 4720)) == [], "what comes before the answer belongs to the FILTER before"
    reader.take(acknowledged(4711))
    assert reader.subscription.state is FollowState.LIVE
    reader.take(post(4715, 4711))
    assert reader.events == [4715]


def test_a_gap_that_comes_back_asks_for_a_snapshot_and_then_for_another_connection() -> None:
    reader = Reader()
    reader.take(post(4720, 4715))
    reader.take(acknowledged(4711))
    (asked,) = reader.take(post(4720, 4715))
    assert asked["body"]["snapshot"] is True
    reader.take(acknowledged(4720))
    reader.take({**of_type("QUOTES_SNAPSHOT"), "seq": 4720})
    with pytest.raises(Reconnect):
        reader.take(post(4730, 4725))
    reader.subscription.pause()
    assert reader.subscription.start()[0]["body"]["snapshot"] is True


def test_a_heartbeat_with_another_hash_asks_for_a_snapshot() -> None:
    reader, heartbeat = Reader(), of_type("HEARTBEAT")
    for book in heartbeat["books"]:
        book["hash"] = EMPTY_HASH
    (asked,) = reader.take(heartbeat)
    assert asked["body"]["snapshot"] is True
    assert reader.resyncs == ["HASH"]


def test_a_snapshot_with_another_hash_ends_the_connection() -> None:
    subscription = Subscription(FILTER, QuotesContent())
    subscription.start()
    subscription.take(acknowledged(4711))
    with pytest.raises(Reconnect):
        subscription.take({**of_type("QUOTES_SNAPSHOT"), "hash": EMPTY_HASH})


def test_after_a_lost_connection_it_resumes_and_another_log_begins_anew() -> None:
    reader = Reader()
    reader.take(post(4712, 4711))
    reader.take(
        {
            **of_type("HEARTBEAT"),
            "seq": 4719,
            "books": [
                {
                    "key": of_type("QUOTES_SNAPSHOT")["key"],
                    "hash": reader.content.hash(of_type("QUOTES_SNAPSHOT")["key"]),
                }
            ],
        }
    )
    reader.subscription.pause()
    assert reader.subscription.state is FollowState.WAITING
    (asked,) = reader.subscription.start()
    assert asked["body"]["fromSeq"] == 4719, "heartbeats move it on"
    reader.take(acknowledged(12, "aaaaaaaaaaaaaaaa"))
    resync = {**of_type("RESYNC"), "channel": "QUOTES", "keys": [of_type("QUOTES_SNAPSHOT")["key"]]}
    reader.take({**resync, "seq": 12, "epoch": "aaaaaaaaaaaaaaaa"})
    assert reader.subscription.state is FollowState.SYNCING
    assert len(reader.content.book) == 0
    reader.take({**of_type("QUOTES_SNAPSHOT"), "seq": 12})
    assert reader.subscription.state is FollowState.LIVE
    assert reader.resyncs == ["RESYNC"]


def test_what_a_quote_goes_through() -> None:
    reader = Reader()
    book, seq = reader.content.book, 4711
    for kind, extra, count in (
        ("FILL_QUOTE", {}, 1),
        ("INVALIDATE_QUOTE", {}, 0),
        ("REVALIDATE_QUOTE", {}, 1),
        ("CANCEL_QUOTE", {}, 0),
        ("UNDO_QUOTE", {"valid": True}, 1),
        ("EXPIRE_QUOTE", {}, 0),
        ("UNDO_QUOTE", {"valid": False}, 0),
    ):
        message = {**of_type(kind), **extra, "seq": seq + 1, "prevSeq": seq}
        message["body"]["fillableSize"] = "5"
        reader.take(message)
        seq += 1
        assert len(book) == count, kind
    assert book.hash(of_type("QUOTES_SNAPSHOT")["key"]) == EMPTY_HASH


def test_a_refused_filter_is_over_and_a_listener_that_raises_disturbs_nothing() -> None:
    subscription = Subscription(FILTER, EventsContent("RFQ"))
    states: list[FollowState] = []
    subscription.states.add(lambda _: 1 / 0)
    subscription.states.add(states.append)
    subscription.start()
    subscription.take({"type": "ERROR", "body": None, "message": "Chain 1 is not served here, only 421613 is"})
    assert states == [FollowState.SYNCING, FollowState.REFUSED]
    assert "not served" in str(subscription.refusal)


def refused(code: str | None, message: str = "") -> dict[str, Any]:
    return {"type": "ERROR", "body": None, "message": message, "code": code}


@pytest.mark.parametrize("code", ["taker_not_proven", "missing_scope"])
def test_a_refusal_for_what_is_not_proven_is_final_also_after_the_start(code: str) -> None:
    reader = Reader()
    reader.subscription.pause()
    reader.subscription.start()
    assert reader.take(refused(code)) == []
    assert reader.subscription.state is FollowState.REFUSED
    assert reader.subscription.refusal is not None and reader.subscription.refusal.code == code


@pytest.mark.parametrize(
    ("code", "message"),
    [("rate_limited", "Too many"), ("too_many_channels", ""), ("too_many_covers", ""), (None, "RATELIMITED")],
)
def test_a_refusal_that_may_pass_is_retried_over_another_connection(code: str | None, message: str) -> None:
    subscription = Subscription(FILTER, QuotesContent())
    for _ in range(2):
        subscription.start()
        with pytest.raises(Reconnect):
            subscription.take(refused(code, message))
        subscription.pause()
        assert subscription.state is FollowState.WAITING


def test_other_refusals_are_retried_once_it_has_started() -> None:
    reader = Reader()
    reader.subscription.pause()
    reader.subscription.start()
    with pytest.raises(Reconnect):
        reader.take(refused("busy"))


def events_of(content: Content, messages: list[dict[str, Any]]) -> list[object]:
    """Events of a subscription that starts, takes the messages, and does both again over another connection."""
    subscription = Subscription(FILTER, content)
    events: list[object] = []
    subscription.events.add(events.append)
    for epoch in ("5f0c1d2e9a7b4c38", "aaaaaaaaaaaaaaaa"):
        subscription.start()
        place = {"channel": content.channel, "keys": [messages[0]["key"]], "seq": messages[0]["seq"], "epoch": epoch}
        subscription.take({"type": "INFO", "body": place, "message": ""})
        for message in messages:
            subscription.take(message)
        assert subscription.state is FollowState.LIVE
        subscription.pause()
    return events


def test_the_first_cover_of_each_connection_is_an_event() -> None:
    first, second = MESSAGES["cover"], MESSAGES["cover without quotes"]
    second = {**second, "key": first["key"]}
    assert events_of(CoverContent(), [first, second]) == [first["body"], second["body"]] * 2


def test_a_snapshot_of_levels_is_an_event() -> None:
    snapshot = of_type("ORDERBOOK_SNAPSHOT")
    assert events_of(LevelsContent(), [snapshot]) == [snapshot] * 2
    assert events_of(QuotesContent(), [of_type("QUOTES_SNAPSHOT")]) == []


def test_what_becomes_of_a_request_is_an_event_and_no_gap() -> None:
    subscription = Subscription({"chainId": "421613"}, EventsContent("RFQ"))
    events: list[object] = []
    subscription.events.add(events.append)
    subscription.start()
    key = of_type("RFQ")["key"]
    acknowledged = {"channel": "RFQ", "keys": [key], "seq": 4711, "epoch": "0123456789abcdef"}
    subscription.take({"type": "INFO", "body": acknowledged, "message": ""})
    messages = [
        {"type": "RFQ", "key": key, "seq": 4720, "prevSeq": 4711, "body": {}},
        {"type": "RFQ_UPDATE", "key": key, "seq": 4722, "prevSeq": 4720, "body": {}},
        {"type": "RFQ", "key": key, "seq": 4725, "prevSeq": 4722, "body": {}},
    ]
    for message in messages:
        assert subscription.take(message) == []
    assert events == messages


def test_types_of_a_newer_server_change_nothing() -> None:
    reader = Reader()
    assert reader.take({"type": "WHATEVER", "key": of_type("QUOTES_SNAPSHOT")["key"]}) == []
    with pytest.raises(LookupError):
        reader.take({"type": "POST_QUOTE", "key": of_type("QUOTES_SNAPSHOT")["key"], "seq": 4712})


def test_a_withdrawn_quote_leaves_the_book_and_comes_back() -> None:
    reader = Reader()
    (quote,) = reader.content.book
    withdrawn = {**of_type("WITHDRAW_QUOTE"), "seq": 4712, "prevSeq": 4711, "body": quote}
    reader.take({**withdrawn, "key": of_type("QUOTES_SNAPSHOT")["key"]})
    assert len(reader.content.book) == 0
    reader.take({**withdrawn, "type": "RESTORE_QUOTE", "seq": 4713, "prevSeq": 4712})
    assert list(reader.content.book) == [quote]
    assert (reader.events, reader.resyncs) == ([4712, 4713], [])


def test_the_type_of_an_event_names_each_message_about_a_quote() -> None:
    named = set(get_args(get_type_hints(QuoteEvent)["type"]))
    assert named == {message["type"] for message in MESSAGES.values() if message["type"].endswith("_QUOTE")}


def test_trades_are_numbered_and_keep_no_book() -> None:
    subscription = Subscription(FILTER, EventsContent("TRADES"))
    trade, undone = of_type("TRADE"), of_type("UNDO_TRADES")
    events: list[str] = []
    subscription.events.add(lambda event: events.append(event["type"]))
    assert subscription.start() == [{"type": "FILTER", "channel": "TRADES", "body": FILTER}]
    place = {"channel": "TRADES", "keys": [trade["key"]], "seq": trade["prevSeq"], "epoch": "5f0c1d2e9a7b4c38"}
    subscription.take({"type": "INFO", "body": place, "message": ""})
    subscription.take(trade)
    subscription.take({**undone, "seq": trade["seq"] + 1, "prevSeq": trade["seq"]})
    assert events == ["TRADE", "UNDO_TRADES"]
    (asked,) = subscription.take({**trade, "seq": trade["seq"] + 9, "prevSeq": trade["seq"] + 8})
    assert asked["body"] == {**FILTER, "epoch": "5f0c1d2e9a7b4c38", "fromSeq": trade["seq"] + 1}
