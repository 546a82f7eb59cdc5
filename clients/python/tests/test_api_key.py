"""Keys that people create themselves, against the built service."""

from __future__ import annotations

import pytest

from quotebook import ApiError, request_api_key

from .conftest import Service, run_async


@run_async
async def test_a_service_hands_out_no_keys_by_default(service: Service) -> None:
    with pytest.raises(ApiError, match="hands out no keys") as caught:
        await request_api_key(service.url, service.taker_account, service.ready["chainId"])
    assert caught.value.status == 403


@run_async
async def test_an_address_has_one_key_and_the_key_has_proven_it(proven_service: Service) -> None:
    service = proven_service
    taker, chain_id = service.taker_account, service.ready["chainId"]
    first = await request_api_key(service.url + "/", taker, chain_id)
    assert (first["tier"], first["address"], first["replaced"]) == ("self", taker.address, False)
    own = {"pool_address": service.pool(2)["poolAddress"], "side": "ask"}
    async with service.client(api_key=first["key"]) as client:
        assert await client.rest.rfq_quotes(**own, taker=taker.address) == []
        with pytest.raises(ApiError, match="has not proven"):
            await client.rest.rfq_quotes(**own, taker=service.maker.address)
        second = await request_api_key(service.url, taker, chain_id)
        assert second["replaced"] and second["key"] != first["key"]
        with pytest.raises(ApiError) as caught:
            await client.rest.tickers()
        assert caught.value.status == 401
    with pytest.raises(ApiError, match="domain evil.example") as refused:
        await request_api_key(service.url, taker, chain_id, domain="evil.example")
    assert refused.value.status == 400
    async with service.client(api_key=second["key"]) as client:
        assert (await client.rest.tickers())["tickers"] is not None
