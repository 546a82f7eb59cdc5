"""The feed of the built service, over sound and over bad connections."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from quotebook import Account, ApiError, Client, ConnectionLostError, EventsLostError, FollowState, RefusedError, Session

from .conftest import ONE, SOON, Disturber, Service, run_async, until


async def post(client: Client, service: Service, pool: int, price: int, size: int = ONE, **terms: Any) -> str:
    signed = client.sign_quote(service.maker, service.pool(pool), side="ask", price=price, size=size, **terms)
    posted = await client.rest.post_quotes([signed.posted])
    assert posted["failed"] == []
    return signed.quote_id


@run_async
async def test_books_follow_what_is_posted_and_filled(service: Service) -> None:
    address = service.pool(1)["poolAddress"]
    async with service.client() as client:
        quotes = client.follow_quotes(pool_address=address)
        levels = client.follow_book(pool_address=address, depth=10)
        tickers = client.follow_tickers()
        cover = client.follow_cover(pool_address=address, side="ask", size=2 * ONE)
        await asyncio.gather(*(each.when_live(SOON) for each in (quotes, levels, tickers, cover)))
        stream = quotes.events()
        dear = await post(client, service, 1, ONE // 10)
        cheap = await post(client, service, 1, ONE // 20, 2 * ONE)
        assert [(await anext(stream))["body"]["quoteId"] for _ in range(2)] == [dear, cheap]
        assert [quote["quoteId"] for quote in quotes.book.side(address, "ask")] == [cheap, dear]
        best = quotes.book.get(cheap)
        assert best is not None
        service.fill(dict(best), ONE // 2)
        fill = await anext(stream)
        (row,) = (await client.rest.trades(pool_address=address, taker=service.taker, limit=1))["trades"]
        assert (row["quoteId"], row["size"], row["side"]) == (best["quoteId"], str(ONE // 2), "buy")
        assert (await client.rest.trades(pool_address=address, taker=service.maker.address))["trades"] == []
        assert (fill["type"], fill["size"]) == ("FILL_QUOTE", str(ONE // 2))
        assert fill["cause"] is not None and fill["cause"]["chain"] == "settlement"
        await until(lambda: levels.book.asks and levels.book.asks[0].size == ONE * 3 // 2)
        assert [level.price for level in levels.book.asks] == [ONE // 20, ONE // 10]
        await until(lambda: (tickers.of(address) or {}).get("filledSize24h") == str(ONE // 2))
        await until(lambda: [leg["take"] for leg in (cover.cover or {"legs": []})["legs"]] == [str(ONE * 3 // 2), str(ONE // 2)])
        heartbeats: list[Any] = []
        quotes.on_heartbeat(heartbeats.append)
        await until(lambda: heartbeats)
        assert quotes.state is FollowState.LIVE, "the hash of the heartbeat is the book's"
        found = await client.rest.quotes(pool_address=address, side="ask", size=1000 * ONE)
        # A plain answer does not name the instrument.
        of_book = [
            {name: value for name, value in quote.items() if name != "instrument"}
            for quote in quotes.book.side(address, "ask")
        ]
        assert found == of_book


@run_async
async def test_a_taker_asks_and_a_maker_answers(service: Service) -> None:
    address, taker = service.pool(2)["poolAddress"], service.taker
    async with service.client() as maker, service.client() as client:
        rfqs = maker.follow_rfqs(pool_address=address)
        answers = client.follow_quotes(pool_address=address, taker=taker)
        await asyncio.gather(rfqs.when_live(SOON), answers.when_live(SOON))
        requests, private = rfqs.events(), answers.events()
        await client.request_quotes(pool_address=address, side="ask", size=3 * ONE, taker=taker)
        body = (await anext(requests))["body"]
        assert (body["size"], body["side"]) == (str(3 * ONE), "ask")
        quote_id = await post(maker, service, 2, ONE // 25, int(body["size"]), taker=body["taker"])
        assert (await anext(private))["body"]["quoteId"] == quote_id
        with pytest.raises(RefusedError, match="Invalid RFQ"):
            await client.request_quotes(pool_address="0x12", side="ask", size=1, taker=taker)


@run_async
async def test_a_maker_follows_the_requests_that_name_it(service: Service) -> None:
    address, name = service.pool(2)["poolAddress"], service.maker.address
    async with service.client() as maker:
        rfqs = maker.follow_rfqs(pool_address=address, provider=name)
        others = maker.follow_rfqs(pool_address=address)
        await asyncio.gather(rfqs.when_live(SOON), others.when_live(SOON))
        requests, open_requests = rfqs.events(), others.events()
        for size, makers in ((ONE, [name]), (2 * ONE, None)):
            legs = [{"poolAddress": address, "side": "ask", "size": str(size)}]
            await maker.rest.open_rfq(service.taker, legs, makers=makers)
        assert [(await anext(requests))["body"]["size"] for _ in range(2)] == [str(ONE), str(2 * ONE)]
        assert (await anext(open_requests))["body"]["size"] == str(2 * ONE)


@run_async
async def test_a_lost_message_is_had_again(service: Service) -> None:
    async with Disturber(service) as link, service.client(link.url) as client, service.client() as direct:
        quotes = client.follow_quotes(pool_address=service.pool(3)["poolAddress"])
        resyncs: list[str] = []
        quotes.on_resync(resyncs.append)
        await quotes.when_live(SOON)
        stream, lost = quotes.events(), []

        def lose_one(message: dict[str, Any]) -> list[Any]:
            if message["type"] != "POST_QUOTE" or lost:
                return [message]
            lost.append(message["seq"])
            return []

        link.change = lose_one
        posted = [await post(direct, service, 3, ONE // 10 + n) for n in range(3)]
        assert [(await anext(stream))["body"]["quoteId"] for _ in posted] == posted, "all, once, in their order"
        assert (len(lost), resyncs) == (1, ["GAP"])
        assert sum(message["type"] == "AUTH" for message in link.sent) == 1, "over the same connection"


@run_async
async def test_a_message_that_was_changed_shows_in_the_hash(service: Service) -> None:
    address = service.pool(4)["poolAddress"]
    async with Disturber(service) as link, service.client(link.url) as client, service.client() as direct:
        quotes = client.follow_quotes(pool_address=address)
        resyncs: list[str] = []
        quotes.on_resync(resyncs.append)
        await quotes.when_live(SOON)

        def falsify(message: dict[str, Any]) -> list[Any]:
            if message["type"] == "POST_QUOTE":
                message["body"]["fillableSize"] = "7"
            return [message]

        link.change = falsify
        quote_id = await post(direct, service, 4, ONE // 10)
        await until(lambda: quotes.book.get(quote_id))
        await until(lambda: "HASH" in resyncs)
        await until(lambda: (quotes.book.get(quote_id) or {}).get("fillableSize") == str(ONE))
        await quotes.when_live(SOON)


@run_async
async def test_after_a_lost_connection_nothing_is_missed_or_doubled(service: Service) -> None:
    async with Disturber(service) as link, service.client(link.url) as client, service.client() as direct:
        quotes = client.follow_quotes(pool_address=service.pool(5)["poolAddress"])
        resyncs: list[str] = []
        quotes.on_resync(resyncs.append)
        await quotes.when_live(SOON)
        stream, posted = quotes.events(), []
        for n in range(5):
            posted.append(await post(direct, service, 5, ONE // 10 + n))
            await link.cut()
            posted.append(await post(direct, service, 5, ONE // 5 + n))
        assert [(await anext(stream))["body"]["quoteId"] for _ in posted] == posted
        assert resyncs == [], "it went on from its number"
        assert any("fromSeq" in (message["body"] or {}) for message in link.sent)


@run_async
async def test_a_link_that_loses_doubles_breaks_and_garbles_ends_in_the_server_s_book(service: Service) -> None:
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    address = service.pool(9)["poolAddress"]
    garbage = ["{", b"\xff\xfe", "[]", '{"type": 7}', "[" * 100_000]

    def disturb(message: dict[str, Any]) -> list[Any]:
        kind = chance.random()
        if kind < 0.1:
            return []
        if kind < 0.2:
            return [message, message]
        if kind < 0.25:
            return [message, chance.choice(garbage)]
        if kind < 0.3 and message["type"] == "POST_QUOTE":
            return [{**message, "body": {**message["body"], "fillableSize": chance.choice(["-5", "x", None])}}]
        if kind < 0.35:
            return [{"type": message["type"], "key": message.get("key")}]
        return [message]

    async with Disturber(service) as link, service.client(link.url, answer=1.0) as client, service.client() as direct:
        quotes = client.follow_quotes(pool_address=address)
        levels = client.follow_book(pool_address=address)
        seen: list[int] = []
        quotes.on_event(lambda event: seen.append(event["seq"]))
        link.change = disturb
        for n in range(40):
            await post(direct, service, 9, ONE // 10 + n % 7)
            if chance.random() < 0.1:
                await link.cut()
        link.change = lambda message: [message]
        found = await direct.rest.quotes(pool_address=address, side="ask", size=1000 * ONE)
        await until(lambda: [level.size for level in levels.book.asks] == [ONE * 6] * 5 + [ONE * 5] * 2)
        await until(lambda: {quote["quoteId"] for quote in quotes.book} == {quote["quoteId"] for quote in found})
        assert len(found) == 40
        assert seen == sorted(set(seen)), "no event twice, none out of order"


@run_async
async def test_a_restart_of_the_service_is_one_more_lost_connection(own_service: Service) -> None:
    async with own_service.client() as client:
        quotes = client.follow_quotes()
        resyncs: list[str] = []
        quotes.on_resync(resyncs.append)
        await quotes.when_live(SOON)
        stream = quotes.events()
        before = await post(client, own_service, 0, ONE // 10)
        assert (await anext(stream))["body"]["quoteId"] == before
        await asyncio.to_thread(own_service.stop)
        await until(lambda: quotes.state is FollowState.WAITING)
        await asyncio.to_thread(own_service.start)
        after = await post(client, own_service, 0, ONE // 10 + 1)
        assert (await asyncio.wait_for(anext(stream), SOON))["body"]["quoteId"] == after
        assert (len(quotes.book), resyncs) == (2, [])


@run_async
async def test_a_key_that_is_refused_is_not_tried_again(service: Service) -> None:
    async with service.client(api_key="qb_unknown") as client:
        stream = client.follow_events()
        with pytest.raises(RefusedError, match="NOT_FOUND"):
            await stream.when_live(SOON)
        with pytest.raises(RefusedError):
            await anext(stream.events())
        with pytest.raises(RefusedError, match="NOT_FOUND"):
            await client.request_quotes(
                pool_address=service.pool(0)["poolAddress"], side="bid", size=1, taker=service.taker
            )


@run_async
async def test_a_filter_that_is_refused_says_why(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(RefusedError, match="Invalid FILTER"):
            await client.follow_book(pool_address="0x12").when_live(SOON)


@run_async
async def test_a_reader_of_events_that_is_too_slow_is_told_and_the_book_is_whole(service: Service) -> None:
    async with service.client() as client:
        stream, quotes = client.follow_events(), client.follow_quotes(pool_address=service.pool(6)["poolAddress"])
        await asyncio.gather(stream.when_live(SOON), quotes.when_live(SOON))
        slow = quotes.events(max_waiting=1)
        posted = [await post(client, service, 6, ONE // 10 + n) for n in range(3)]
        await until(lambda: len(quotes.book) == 3)
        assert (await anext(slow))["body"]["quoteId"] == posted[0]
        with pytest.raises(EventsLostError):
            await anext(slow)


@run_async
async def test_closing_ends_iterations_and_waits(service: Service) -> None:
    async with service.client() as client:
        stream = client.follow_events()
        await stream.when_live(SOON)
        events = stream.events()
    assert [event async for event in events] == []
    assert stream.state is FollowState.CLOSED
    with pytest.raises(ConnectionLostError):
        await stream.when_live(SOON)


@run_async
async def test_a_server_that_is_silent_is_left(service: Service) -> None:
    async with Disturber(service) as link, service.client(link.url, silence=7.0) as client:
        stream = client.follow_events()
        await stream.when_live(SOON)
        link.change = lambda message: [] if message["type"] == "HEARTBEAT" else [message]
        await until(lambda: stream.state is FollowState.WAITING)
        link.change = lambda message: [message]
        await stream.when_live(SOON)


@run_async
async def test_a_proven_taker_follows_its_private_quotes_over_lost_connections(proven_service: Service) -> None:
    service = proven_service
    address, taker = service.pool(0)["poolAddress"], service.taker_account
    async with Disturber(service) as link, service.client() as client, service.client(link.url) as feed:
        with pytest.raises(ApiError, match="has not proven"):
            await client.rest.rfq_quotes(pool_address=address, side="ask", taker=taker.address)
        with pytest.raises(ApiError, match="domain evil.example"):
            await client.sign_in(taker, domain="evil.example")
        result = await client.sign_in(taker)
        assert client.session is not None and client.session.token == result["token"]
        assert client.session.token not in repr(client.session)
        quote_id = await post(client, service, 0, ONE // 10, taker=taker.address)
        found = await client.rest.rfq_quotes(pool_address=address, side="ask", taker=taker.address)
        assert [quote["quoteId"] for quote in found] == [quote_id]
        feed._credentials.session = client.session
        quotes = feed.follow_quotes(pool_address=address, taker=taker.address)
        await quotes.when_live(SOON)
        await link.cut()
        await until(lambda: quotes.state is FollowState.WAITING)
        await quotes.when_live(SOON)
        assert quotes.book.get(quote_id) is not None
        client._credentials.session = replace(client.session, token="qbs_ended")
        assert (await client.rest.ready())["ready"]
        with pytest.raises(ApiError, match="has not proven"):
            await client.rest.rfq_quotes(pool_address=address, side="ask", taker=taker.address)
        assert client.session is None, "the key is used again"
        await client.sign_in(taker)
        await client.sign_out()
        assert client.session is None
        await client.sign_in(taker, keep="key")
        assert client.session is None
        assert await client.rest.rfq_quotes(pool_address=address, side="ask", taker=taker.address) == found


@run_async
async def test_a_sign_in_holds_on_the_open_connection_of_calls(proven_service: Service) -> None:
    account = Account(f"0x{7:064x}")
    async with proven_service.client() as client:
        statuses: list[Any] = []
        client.on_rfq_status(lambda message: statuses.append(message["body"]["status"]))
        await client.connect()
        await client.sign_in(account)
        leg = {"poolAddress": proven_service.pool(0)["poolAddress"], "side": "ask", "size": str(ONE)}
        await client.rest.open_rfq(account.address, [leg])  # type: ignore[list-item]
        await until(lambda: statuses == ["open"])


@run_async
async def test_what_was_followed_with_a_session_is_refused_after_its_end(proven_service: Service) -> None:
    # Another address than the one that the key has proven.
    account = proven_service.maker
    async with proven_service.client() as client:
        await client.sign_in(account)
        private, public = client.follow_quotes(taker=account.address), client.follow_quotes()
        await asyncio.gather(private.when_live(SOON), public.when_live(SOON))
        events = private.events()
        await client.sign_out()
        with pytest.raises(RefusedError, match="has not proven") as caught:
            await asyncio.wait_for(anext(events), SOON)
        assert caught.value.code == "taker_not_proven"
        assert private.state is FollowState.REFUSED
        await public.when_live(SOON)


@run_async
async def test_a_session_that_has_ended_costs_no_call(proven_service: Service) -> None:
    ended = Session(proven_service.maker.address, "qbs_ended", 2**40)
    async with Disturber(proven_service) as link, proven_service.client(link.url) as client:
        client._credentials.session = ended
        await client.request_quotes(
            pool_address=proven_service.pool(1)["poolAddress"], side="ask", size=ONE, taker=proven_service.taker
        )
        assert client.session is None
        client._credentials.session = ended
        signed = client.sign_quote(proven_service.maker, proven_service.pool(1), side="ask", price=ONE // 20, size=ONE)
        (checked,) = await client.check_quotes([signed.posted])
        assert (checked["outcome"], client.session) == ("created", None)
        client._credentials.session = ended
        quotes = client.follow_quotes()
        await quotes.when_live(SOON)
        keys = [message["apiKey"] for message in link.sent if message["type"] == "AUTH"]
        assert keys == ["qbs_ended", proven_service.ready["apiKey"]] * 3


@run_async
async def test_a_cover_is_none_while_its_connection_is_replaced(service: Service) -> None:
    address = service.pool(14)["poolAddress"]
    async with Disturber(service) as link, service.client(link.url) as client:
        followed = client.follow_cover(pool_address=address, side="ask", size=ONE)
        covers = followed.events()
        assert followed.cover is None
        first = await asyncio.wait_for(anext(covers), SOON)
        assert followed.cover == first
        seen: list[tuple[FollowState, bool]] = []
        followed.on_state(lambda state: seen.append((state, followed.cover is None)))
        await link.cut()
        assert await asyncio.wait_for(anext(covers), SOON) == first
        assert seen == [(FollowState.WAITING, True), (FollowState.SYNCING, True), (FollowState.LIVE, False)]
