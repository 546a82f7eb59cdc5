"""Withdrawals, authorisations and requests for quotes, against the built service."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from quotebook import (
    ApiError,
    Client,
    RefusedError,
    request_api_key,
    sign_fill_limit,
    sign_key_authorization,
    sign_key_revocation,
    sign_restore,
    sign_withdrawal,
)

from .conftest import ONE, SOON, Service, run_async, until


async def posted(client: Client, service: Service, pool: int, price: int = ONE // 20) -> str:
    signed = client.sign_quote(service.maker, service.pool(pool), side="ask", price=price, size=ONE)
    answer = await client.rest.post_quotes([signed.posted])
    assert [quote["quoteId"] for quote in answer["created"]] == [signed.quote_id], answer["failed"]
    return signed.quote_id


async def shown(client: Client, service: Service, pool: int) -> list[str]:
    found = await client.rest.quotes(pool_address=service.pool(pool)["poolAddress"], side="ask", size=1)
    return [quote["quoteId"] for quote in found]


@run_async
async def test_a_withdrawn_quote_is_hidden_until_it_is_restored(service: Service) -> None:
    async with service.client() as client:
        chain_id, maker = service.ready["chainId"], service.maker
        quote_id = await posted(client, service, 5)
        unknown = "0x" + "12" * 32
        hidden = await client.rest.withdraw_quotes(sign_withdrawal(maker, chain_id, [quote_id, unknown]))
        assert (hidden["withdrawn"], hidden["unknown"]) == ([quote_id], [unknown])
        assert "chain" in hidden["notice"]
        assert await shown(client, service, 5) == []
        page = await client.rest.withdrawn_quotes(maker.address, limit=10)
        assert quote_id in [quote["quoteId"] for quote in page["quotes"]]
        restoring = sign_restore(maker, chain_id, [quote_id])
        assert (await client.rest.restore_quotes(restoring))["restored"] == [quote_id]
        assert await shown(client, service, 5) == [quote_id]
        with pytest.raises(ApiError, match="nonce") as caught:
            await client.rest.restore_quotes(restoring)
        assert caught.value.status in (403, 409)
        forged = {**sign_withdrawal(service.taker_account, chain_id, [quote_id]), "provider": maker.address}
        with pytest.raises(ApiError):
            await client.rest.withdraw_quotes(forged)  # type: ignore[arg-type]
        history = await client.rest.quote_history(quote_id)
        assert [event["type"] for event in history["events"]] == ["POSTED", "WITHDRAWN", "RESTORED"]
        first = await client.rest.quote_history(quote_id, limit=1)
        assert first["next"] is not None
        rest = await client.rest.quote_history(quote_id, after_seq=first["next"])
        assert first["events"] + rest["events"] == history["events"]


@run_async
async def test_all_quotes_of_a_pool_are_withdrawn_after_a_sign_in(service: Service) -> None:
    async with service.client() as client:
        maker, pool = service.maker, service.pool(15)
        address = pool["poolAddress"]
        signed = [client.sign_quote(maker, pool, side="ask", price=ONE // part, size=ONE) for part in (10, 20)]
        assert (await client.rest.post_quotes([each.posted for each in signed]))["failed"] == []
        with pytest.raises(ApiError) as caught:
            await client.rest.withdraw_all_quotes(maker.address, pool_address=address)
        assert caught.value.code == "provider_not_authorized"
        await client.sign_in(maker)
        hidden = await client.rest.withdraw_all_quotes(maker.address, pool_address=address)
        assert sorted(hidden) == sorted(each.quote_id for each in signed)
        assert (await client.rest.orders(pool_address=address))["validQuotes"] == []


@run_async
async def test_a_key_acts_for_a_provider_that_authorised_it(service: Service) -> None:
    async with service.client() as client:
        chain_id, maker = service.ready["chainId"], service.maker
        address = maker.address
        key_id = (await client.rest.authorizations())["keyId"]
        with pytest.raises(ApiError, match="not authorised") as caught:
            await client.rest.heartbeat(address, 60)
        assert caught.value.status == 403
        until = int(time.time()) + 3600
        granted = await client.rest.authorize_key(sign_key_authorization(maker, chain_id, key_id, until=until))
        assert [each["until"] for each in granted["authorizations"]] == [until]
        timer = await client.rest.heartbeat(address, 600)
        assert (timer["seconds"], timer["authorizedUntil"]) == (600, until)
        pool = service.pool(6)["poolAddress"]
        bounds = sign_fill_limit(maker, chain_id, pool, contracts=ONE, fills=3, window_seconds=60)
        assert (await client.rest.set_fill_limit(bounds))["fillLimits"] == (
            await client.rest.fill_limits(address)
        )["fillLimits"]
        none = sign_fill_limit(maker, chain_id, pool, contracts=0, fills=0, window_seconds=60)
        assert (await client.rest.set_fill_limit(none))["fillLimits"] == []
        quote_id = await posted(client, service, 6)
        await client.rest.heartbeat(address, 2)
        async with asyncio.timeout(SOON):
            while quote_id in await shown(client, service, 6):
                await asyncio.sleep(0.05)
        await client.rest.heartbeat(address, 0)
        assert (await client.rest.revoke_key(address))["authorizations"] == []
        await client.rest.authorize_key(sign_key_authorization(maker, chain_id, key_id, until=until))
        signed = sign_key_revocation(maker, chain_id, key_id)
        assert (await client.rest.revoke_key(address, signed))["authorizations"] == []


@run_async
async def test_a_provider_revokes_a_key_that_it_does_not_hold(proven_service: Service) -> None:
    chain_id, maker = proven_service.ready["chainId"], proven_service.maker
    own = await request_api_key(proven_service.url, maker, chain_id)
    async with proven_service.client() as leaked, proven_service.client(api_key=own["key"]) as client:
        key_id = (await leaked.rest.authorizations())["keyId"]
        for arguments in ((sign_key_revocation(maker, chain_id, key_id), None), (None, key_id)):
            until = int(time.time()) + 3600
            signed = sign_key_authorization(maker, chain_id, key_id, until=until)
            assert len((await leaked.rest.authorize_key(signed))["authorizations"]) == 1
            await client.rest.revoke_key(maker.address, arguments[0], key_id=arguments[1])
            assert (await leaked.rest.authorizations())["authorizations"] == []


@run_async
async def test_quotes_are_withdrawn_once_the_connection_of_calls_is_gone(service: Service) -> None:
    async with service.client() as client:
        address, chain_id = service.maker.address, service.ready["chainId"]
        key_id = (await client.rest.authorizations())["keyId"]
        until = int(time.time()) + 3600
        await client.rest.authorize_key(sign_key_authorization(service.maker, chain_id, key_id, until=until))
        maker = service.client()
        async with maker:
            with pytest.raises(RefusedError, match="has not authorised") as caught:
                await maker.cancel_on_disconnect(service.taker, 2)
            assert caught.value.code == "provider_not_authorized"
            assert (await maker.heartbeat(address, 600))["seconds"] == 600
            assert (await maker.heartbeat(address, 0))["seconds"] == 0
            assert (await maker.cancel_on_disconnect(address, 2))["seconds"] == 2
            quote_id = await posted(client, service, 9)
            await asyncio.sleep(3)
            assert await shown(client, service, 9) == [quote_id], "the connection is open"
        async with asyncio.timeout(SOON):
            while await shown(client, service, 9):
                await asyncio.sleep(0.05)
        history = await client.rest.quote_history(quote_id)
        assert [event.get("why") for event in history["events"]] == [None, "DISCONNECTED"]
        await client.rest.revoke_key(address)


@run_async
async def test_a_request_for_quotes_has_a_life(service: Service) -> None:
    async with service.client() as client:
        pool = service.pool(7)
        leg = {"poolAddress": pool["poolAddress"], "side": "ask", "size": str(ONE)}
        statuses: list[Any] = []
        await client.connect()
        client.on_rfq_status(lambda message: statuses.append(message["body"]))
        (opened,) = await client.rest.open_rfq(service.taker, [leg], client_id="python-1")  # type: ignore[list-item]
        assert (opened["status"], opened["clientId"], opened["best"]) == ("open", "python-1", None)
        (again,) = await client.rest.open_rfq(service.taker, [leg], client_id="python-1")  # type: ignore[list-item]
        assert again["rfqId"] == opened["rfqId"]
        signed = client.sign_quote(
            service.maker, pool, side="ask", price=ONE // 25, size=ONE, taker=service.taker
        )
        await client.rest.post_quotes([signed.posted])
        (quoted,) = (await client.rest.rfqs(client_id="python-1"))["rfqs"]
        assert (quoted["status"], quoted["quotes"]) == ("quoted", 1)
        assert quoted["best"] is not None and quoted["best"]["quoteId"] == signed.quote_id
        cover = await client.rest.rfq_cover(opened["rfqId"])
        assert [each["covered"] for each in cover["legs"]] == [str(ONE)]
        # A put's price is a share of its strike.
        strike = int(pool["poolKey"]["strike"])
        scale = ONE if pool["poolKey"]["isCallPool"] else strike
        assert [each["amount"] for each in cover["net"]] == [str(scale // 25)]
        assert (await client.rest.rfq_competition(opened["rfqId"], service.maker.address))["rank"] == 1
        await until(lambda: len(statuses) == 2)
        assert [each["status"] for each in statuses] == ["open", "quoted"]
        assert statuses[1]["best"]["quoteId"] == signed.quote_id
        (cancelled,) = await client.rest.cancel_rfq(opened["rfqId"])
        assert cancelled["status"] == "cancelled"
        assert (await client.rest.rfqs(status="quoted", client_id="python-1"))["rfqs"] == []
        with pytest.raises(ApiError, match="no request") as caught:
            await client.rest.rfq_cover("0" * 32)
        assert caught.value.status == 404
