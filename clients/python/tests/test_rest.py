"""The routes of the built service."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import Any

import pytest

from quotebook import ApiError, Rest
from quotebook.rest import _quotas
from quotebook.wire import InvalidQuote, Option, Pool

from .conftest import ONE, SOON, Service, run_async


@run_async
async def test_a_signed_quote_is_published_and_read_back(service: Service) -> None:
    async with service.client() as client:
        assert (await client.rest.ready())["ready"] is True
        pool = service.pool(8)
        terms = {"side": "ask", "price": ONE // 20, "size": 2 * ONE}
        signed = client.sign_quote(service.maker, pool, **terms)
        (checked,) = await client.rest.check_quotes([signed.posted])
        assert checked["outcome"] == "created"
        assert (checked["digest"], checked["signer"]) == (signed.quote_id, service.maker.address)
        posted = await client.rest.post_quotes([signed.posted])
        assert [quote["quoteId"] for quote in posted["created"]] == [signed.quote_id], posted["failed"]
        again = await client.rest.post_quotes([signed.posted])
        assert [quote["quoteId"] for quote in again["exists"]] == [signed.quote_id]
        private = client.sign_quote(service.maker, pool, taker=service.taker, **terms)
        await client.rest.post_quotes([private.posted])
        found = await client.rest.quotes(pool_address=pool["poolAddress"], side="ask", size=1)
        assert [quote["quoteId"] for quote in found] == [signed.quote_id]
        rfq_quotes = await client.rest.rfq_quotes(pool_address=pool["poolAddress"], side="ask", taker=service.taker)
        assert [quote["quoteId"] for quote in rfq_quotes] == [private.quote_id]
        orders = await client.rest.orders(quote_ids=[signed.quote_id, private.quote_id])
        assert len(orders["validQuotes"]) == 2
        assert (await client.rest.orders(quote_ids=[]))["validQuotes"] == []
        page = await client.rest.orders(provider=service.maker.address, limit=1)
        assert len(page["validQuotes"]) == 1
        book = await client.rest.book(pool["poolAddress"], depth=1)
        assert [level["price"] for level in book["asks"]] == [str(ONE // 20)]
        tickers = await client.rest.tickers()
        ticker = next(each for each in tickers["tickers"] if each["poolAddress"] == pool["poolAddress"])
        assert ticker["ask"] is not None and ticker["ask"]["price"] == str(ONE // 20)


@run_async
async def test_a_cover_has_what_filling_it_takes_and_a_book_its_proof(service: Service) -> None:
    async with service.client() as client:
        pool = service.pool(10)
        address = pool["poolAddress"]
        for price in (ONE // 20, ONE // 10):
            signed = client.sign_quote(service.maker, pool, side="ask", price=price, size=ONE)
            await client.rest.post_quotes([signed.posted])
        cover = await client.rest.cover(pool_address=address, side="ask", size=3 * ONE // 2)
        assert (cover["covered"], cover["shortfall"]) == (str(3 * ONE // 2), "0")
        assert [leg["take"] for leg in cover["legs"]] == [str(ONE), str(ONE // 2)]
        assert cover["bundle"] is not None and cover["bundle"]["to"].lower() == address
        assert cover["approval"] is not None
        assert int(cover["approval"]["amount"]) == sum(int(leg["pays"]) for leg in cover["legs"])
        (instrument,) = (each for each in await client.rest.instruments() if each["poolAddress"] == address)
        named = await client.rest.cover(instrument=instrument["instrument"], side="ask", size=3 * ONE // 2)
        assert named["legs"] == cover["legs"]
        with pytest.raises(ApiError, match="either poolAddress or instrument"):
            await client.rest.cover(side="ask", size=1)
        proof = await client.rest.book_proof(address, cover["asOfSeq"])
        assert sorted(each["quote"]["quoteId"] for each in proof["quotes"]) == sorted(
            leg["quote"]["quoteId"] for leg in cover["legs"]
        )
        with pytest.raises(ApiError, match="has not been reached") as caught:
            await client.rest.book_proof(address, 10**9)
        assert (caught.value.status, caught.value.oldest_seq) == (503, None)


@run_async
async def test_market_data_and_balances(service: Service) -> None:
    async with service.client() as client:
        assert client.rest.quotas == {}
        address = service.pool(11)["poolAddress"]
        (pool,) = (each for each in await client.rest.instruments() if each["poolAddress"] == address)
        assert pool["instrument"].endswith(f"-{pool['strike']}-{'C' if pool['poolKey']['isCallPool'] else 'P'}")
        requests = client.rest.quotas["requests"]
        assert requests["left"] > 0 and requests["perSecond"] > 0
        signed = client.sign_quote(service.maker, service.pool(11), side="ask", price=ONE // 20, size=ONE)
        (quote,) = (await client.rest.post_quotes([signed.posted]))["created"]
        assert client.rest.quotas["quotes"]["perSecond"] > 0
        fills = client.follow_trades(instrument=pool["instrument"])
        await fills.when_live(SOON)
        stream = fills.events()
        service.fill(dict(quote), ONE // 2)
        assert (await anext(stream))["body"]["quoteId"] == signed.quote_id
        candles = await client.rest.candles(instrument=pool["instrument"], interval="1h")
        assert sum(int(candle["volume"]) for candle in candles["candles"]) == ONE // 2
        assert candles == await client.rest.candles(pool_address=address, interval="1h", start=candles["since"])
        positions = (await client.rest.option_balances(service.taker))["open"]
        (held,) = (each for each in positions if each["token_address"] == address)
        assert (held["amount"], held["exposure"]) == (Decimal("0.5"), "LONG")
        tokens = await client.rest.collateral_balances(service.taker)
        assert {token["symbol"] for token in tokens["success"]} > {"testWETH"} and tokens["failed"] == []


def test_quotas_that_a_header_leaves_out_are_not_known() -> None:
    left, policy = '"requests";r=5;t=1, "quotes";r=7', '"requests";q=30;w=60, "other";q=1;w=1'
    assert _quotas({"ratelimit": left, "ratelimit-policy": policy}) == {"requests": {"left": 5, "perSecond": 0.5}}
    assert _quotas({}) == {}


def test_a_410_names_the_oldest_event_that_is_kept() -> None:
    body = {"message": "States before event 7 are not kept", "oldest": {"seq": 7, "blockNumber": 3, "tsMs": 5}}
    assert ApiError(410, body, {}).oldest_seq == 7
    for other in ({"message": "gone"}, {"oldest": 7}, {"oldest": {}}, [], None):
        assert ApiError(410, other, {}).oldest_seq is None


def test_errors_of_older_servers_have_no_code() -> None:
    plain = ApiError(400, [{"instancePath": "/size", "message": "must be string"}], {})
    assert str(plain) == "/size must be string"
    for error in (plain, ApiError(502, {"message": "no upstream"}, {}), ApiError(400, {"code": 7}, {})):
        assert (error.code, error.retryable, error.param) == (None, None, None)


@run_async
async def test_answers_of_the_past_are_those_that_were_given(service: Service) -> None:
    async with service.client() as client:
        pool = service.pool(12)
        address = pool["poolAddress"]
        before = await client.rest.book(address)
        signed = client.sign_quote(service.maker, pool, side="ask", price=ONE // 20, size=ONE)
        await client.rest.post_quotes([signed.posted])
        now = await client.rest.book(address)
        assert len(now["asks"]) == 1
        for book in (before, now):
            past = await client.rest.book(address, as_of={"seq": book["seq"]})
            assert past["asks"] == book["asks"]
            found = await client.rest.quotes(pool_address=address, side="ask", size=1, as_of={"seq": book["seq"]})
            assert len(found) == len(book["asks"])
            orders = await client.rest.orders(pool_address=address, as_of={"seq": book["seq"]})
            assert len(orders["validQuotes"]) == len(book["asks"])
            tickers = await client.rest.past_tickers({"seq": book["seq"]})
            (ticker,) = (each for each in tickers["tickers"] if each["poolAddress"] == address)
            assert (ticker["ask"] is None) == (len(book["asks"]) == 0)
        with pytest.raises(ApiError, match="exclude each other"):
            await client.rest.past_tickers({"seq": 1, "time": 1})


@run_async
async def test_refusals_are_errors_with_their_reasons(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(ApiError, match="poolAddress must match pattern") as caught:
            await client.rest.quotes(pool_address="0x12", side="ask", size=1)
        assert (caught.value.status, caught.value.code, caught.value.retryable) == (400, "invalid_parameter", False)
        assert caught.value.param == "poolAddress"
        assert caught.value.problems[0]["instancePath"] == "/poolAddress"
        assert caught.value.request_id
        expired = client.sign_quote(service.maker, service.pool(0), side="bid", price=1, size=ONE, deadline=1)
        (failed,) = (await client.rest.post_quotes([expired.posted]))["failed"]
        assert failed["reason"].startswith("Quote deadline is invalid")
    async with service.client(api_key="qb_unknown") as client:
        with pytest.raises(ApiError, match="NOT_FOUND") as caught:
            await client.rest.tickers()
        assert caught.value.status == 401


@run_async
async def test_options_have_exact_numbers(service: Service) -> None:
    async with service.client() as client:
        pools = await client.rest.pools(base="testWETH")
        assert {pool["base"] for pool in pools} == {"testWETH"}
        option = next(pool for pool in pools if pool["type"] == "C" and pool["strike"] == 1800)
        quoted = await client.rest.vault_quote(option, size=Decimal("2"), direction="buy")
        assert isinstance(quoted["quote"], Decimal)
        assert quoted["market"]["size"] == 2
        deployed = await client.rest.deploy_pools(
            [{"base": "testWETH", "quote": "USDC", "expiration": option["expiration"], "strike": 1801, "type": "C"}]
        )
        assert deployed["failed"][0]["reason"] == "PoolFactory__OptionStrikeInvalid"
        settled = await client.rest.settle(
            [{"base": "testWETH", "quote": "USDC", "expiration": option["expiration"], "strike": 1800, "type": "C"}]
        )
        assert settled["failed"][0]["reason"] == "Option has not expired"


@run_async
async def test_a_redirect_gets_neither_the_key_nor_a_connection(service: Service) -> None:
    heads: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        location = f"http://127.0.0.1:{server.getsockname()[1]}/elsewhere"

        def answer() -> None:
            for _ in range(2):
                connection, _peer = server.accept()
                with connection:
                    heads.append(connection.recv(65_536))
                    head = f"HTTP/1.1 302 Found\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n"
                    connection.sendall(head.encode())

        thread = threading.Thread(target=answer)
        thread.start()
        async with service.client(f"http://127.0.0.1:{server.getsockname()[1]}") as client:
            with pytest.raises(ApiError) as caught:
                await client.rest.tickers()
            assert caught.value.status == 302
            stream = client.follow_events()
            await asyncio.to_thread(thread.join)
            await stream.close()
    assert not any(b"/elsewhere" in head for head in heads)


@contextmanager
def one_answer(text: bytes) -> Iterator[str]:
    """URL of a server that answers its first request with these bytes, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _peer = server.accept()
            with connection:
                connection.recv(65_536)
                connection.sendall(text)

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        thread.join()


@pytest.mark.parametrize(
    "text",
    [
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\n[1",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n[1]",
        b"no HTTP\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx: " + b"y" * 70_000,
        b"",
    ],
    ids=["chunk cut", "body cut", "status line", "long line", "nothing"],
)
@run_async
async def test_an_answer_that_is_not_whole_is_a_lost_connection(text: bytes) -> None:
    with one_answer(text) as url:
        with pytest.raises(ConnectionError):
            await Rest(url, "key", 421613).instruments()


def option_of(pool: Pool, strike: Decimal) -> Option:
    return {
        "base": pool["base"],
        "quote": pool["quote"],
        "expiration": pool["expiration"],
        "strike": strike,
        "type": pool["type"],
    }


@run_async
async def test_a_number_that_the_server_would_round_is_not_sent(service: Service) -> None:
    async with service.client() as client:
        option = (await client.rest.pools(base="testWETH"))[0]
        for strike in ("0.100000000000000001", "9007199254740993", "NaN", "Infinity", "1e400"):
            for call in (client.rest.deploy_pools, client.rest.settle):
                with pytest.raises(ValueError, match="would read"):
                    await call([option_of(option, Decimal(strike))])
        settled = await client.rest.settle([option_of(option, Decimal("1800.10"))])
        assert settled["failed"][0]["failedOption"]["strike"] == Decimal("1800.1")


def schemas_of(member: str, node: Any, root: Any) -> Iterator[Any]:
    """The schemas that a document gives to a member of that name."""
    for value in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from schemas_of(member, value, root)
    properties = node.get("properties") if isinstance(node, dict) else None
    if isinstance(properties, dict) and member in properties:
        yield resolved(properties[member], root)


def resolved(schema: Any, root: Any) -> Any:
    while "$ref" in schema:
        place = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            place = place[step]
        schema = place
    return schema


def test_invalid_quotes_have_the_members_of_the_served_document(service: Service) -> None:
    with urllib.request.urlopen(f"{service.url}/openapi.json", timeout=SOON) as answer:
        document = json.load(answer)
    lists = list(schemas_of("invalidQuotes", document, document))
    assert lists
    for each in lists:
        assert set(resolved(each["items"], document)["properties"]) == set(InvalidQuote.__annotations__)


def test_urls_that_are_none() -> None:
    for url in ("", "ftp://127.0.0.1", "http://", "http://127.0.0.1/?a=b"):
        with pytest.raises(ValueError, match="Not the URL of a service"):
            Rest(url, "key", 421613)
