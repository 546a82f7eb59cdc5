"""Calls over the connection of the feed that all of a client share."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
import websockets

from quotebook import Account, Client, ConnectionLostError, RefusedError, Timeouts

from .conftest import ONE, SOON, Disturber, Service, run_async


@run_async
async def test_quotes_are_checked_posted_and_cancelled_over_one_connection(service: Service) -> None:
    operator = Account(service.ready["accounts"][0]["privateKey"])
    pool = service.pool(11)
    async with Disturber(service) as link, service.client(link.url) as client, service.client() as direct:
        terms = {"side": "bid", "price": ONE // 20, "size": ONE}
        first, second = (client.sign_quote(operator, pool, **terms) for _ in range(2))
        (checked,) = await client.check_quotes([first.posted])
        assert (checked["outcome"], checked["digest"]) == ("created", first.quote_id)
        answers = await asyncio.gather(*(client.post_quotes([each.posted]) for each in (first, second)))
        # Each caller gets the answer to its own call.
        created = [[quote["quoteId"] for quote in answer["created"]] for answer in answers]
        assert created == [[first.quote_id], [second.quote_id]], answers
        cancelled = await client.cancel_quotes([first.quote_id, f"0x{7:064x}"])
        assert cancelled == {"success": [first.quote_id], "failed": [], "omitted": [f"0x{7:064x}"]}
        found = await direct.rest.orders(quote_ids=[first.quote_id, second.quote_id])
        assert [quote["quoteId"] for quote in found["validQuotes"]] == [second.quote_id]
        await client.cancel_quotes([second.quote_id])
        assert [message["type"] for message in link.sent].count("AUTH") == 1
        ids = [message["id"] for message in link.sent if message["type"] != "AUTH"]
        assert len(set(ids)) == len(ids) == 5


@run_async
async def test_a_refusal_has_its_code_and_leaves_the_connection(service: Service) -> None:
    async with service.client() as client:
        with pytest.raises(RefusedError, match="must NOT have fewer than 1 items") as caught:
            await client.post_quotes([])
        assert (caught.value.code, caught.value.details, caught.value.retry_after_ms) == ("invalid_parameter", None, None)
        signed = client.sign_quote(service.maker, service.pool(11), side="ask", price=ONE // 20, size=ONE)
        (checked,) = await client.check_quotes([signed.posted])
        assert checked["outcome"] == "created"
    async with service.client(api_key="qb_unknown") as client:
        with pytest.raises(RefusedError, match="NOT_FOUND"):
            await client.check_quotes([signed.posted])


class Scripted:
    """A server that answers as a test wants; `sessions`: messages of each connection after its AUTH."""

    def __init__(self, answers: list[dict[str, Any] | None]) -> None:
        self.answers = answers
        self.sessions: list[list[dict[str, Any]]] = []

    async def serve(self, socket: Any, _path: str = "") -> None:
        asked = json.loads(await socket.recv())
        assert asked["type"] == "AUTH"
        await socket.send(json.dumps({"type": "INFO", "body": None, "message": "Session authorized"}))
        session: list[dict[str, Any]] = []
        self.sessions.append(session)
        async for frame in socket:
            message = json.loads(frame)
            session.append(message)
            answer = self.answers.pop(0)
            if answer is None:
                return
            await socket.send(json.dumps({**answer, "id": message["id"]}))


POSTED = {"type": "QUOTES_POSTED", "body": {"created": [], "failed": [], "exists": []}}


@run_async
async def test_a_call_whose_connection_is_lost_raises_and_the_next_opens_another() -> None:
    limited = {"type": "ERROR", "body": {"retryAfterMs": 1500}, "message": "RATELIMITED", "code": "rate_limited"}
    scripted = Scripted([POSTED, None, limited])
    async with websockets.serve(scripted.serve, "127.0.0.1", 0, subprotocols=["quotebook.v2.json"]) as server:
        port = server.sockets[0].getsockname()[1]
        async with Client(f"http://127.0.0.1:{port}", "key", 421613) as client:
            assert (await client.post_quotes([]))["created"] == []
            with pytest.raises(ConnectionLostError):
                await client.post_quotes([])
            with pytest.raises(RefusedError, match="RATELIMITED") as caught:
                await client.cancel_quotes([])
            assert (caught.value.code, caught.value.retry_after_ms) == ("rate_limited", 1500)
    assert [len(session) for session in scripted.sessions] == [2, 1]


@run_async
async def test_without_an_answer_in_time_it_is_not_known_what_became_of_a_call() -> None:
    async def silent(socket: Any, _path: str = "") -> None:
        await Scripted([]).serve(_Mute(socket), _path)

    async with websockets.serve(silent, "127.0.0.1", 0, subprotocols=["quotebook.v2.json"]) as server:
        port = server.sockets[0].getsockname()[1]
        client = Client(f"http://127.0.0.1:{port}", "key", 421613, timeouts=Timeouts(call=0.05))
        with pytest.raises(ConnectionLostError):
            await client.post_quotes([])
        await client.close()
        with pytest.raises(ConnectionLostError):
            await client.post_quotes([])


@run_async
async def test_closing_the_client_ends_calls_under_way() -> None:
    async def silent(socket: Any, _path: str = "") -> None:
        await Scripted([]).serve(_Mute(socket), _path)

    async with websockets.serve(silent, "127.0.0.1", 0, subprotocols=["quotebook.v2.json"]) as server:
        client = Client(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", "key", 421613)
        call = asyncio.ensure_future(client.post_quotes([]))
        await asyncio.sleep(0.1)
        await client.close()
        with pytest.raises(ConnectionLostError):
            await asyncio.wait_for(call, SOON)


@run_async
async def test_a_server_that_is_not_there_is_a_lost_connection() -> None:
    async with Client("http://127.0.0.1:1", "key", 421613) as client:
        with pytest.raises(ConnectionLostError):
            await client.check_quotes([])


class _Mute:
    """A socket whose reader swallows every message after the first."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    async def recv(self) -> Any:
        return await self._socket.recv()

    async def send(self, frame: str) -> None:
        await self._socket.send(frame)

    async def __aiter__(self) -> Any:
        async for _ in self._socket:
            pass
        return
        yield  # It gives nothing.
