"""The HTTP routes (docs/reference/api.md)."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Literal, cast
from urllib.parse import quote as url_quote
from urllib.parse import urlsplit

from .errors import ApiError, QuotebookError
from .sign_in import Credentials
from .wire import (
    AsOf,
    Authorization,
    Authorizations,
    Book,
    BookProof,
    CandleInterval,
    Candles,
    CheckedQuote,
    CollateralBalances,
    CoverTerms,
    CreatedKey,
    DeployedPools,
    FillLimit,
    FillLimits,
    Instrument,
    Number,
    Option,
    OptionBalances,
    OrderbookQuote,
    Orders,
    PastTickers,
    Pool,
    PostedQuote,
    PostedQuotes,
    Quota,
    QuoteHistory,
    Readiness,
    RestoredQuotes,
    Revocation,
    RfqCompetition,
    RfqCover,
    RfqLeg,
    RfqRecord,
    RfqStatus,
    RfqsPage,
    Settled,
    Side,
    Tickers,
    Timer,
    Trades,
    VaultQuote,
    VerifiedSignIn,
    Withdrawal,
    WithdrawnQuotes,
    WithdrawnQuotesPage,
)

#: A settlement may take a minute.
DEFAULT_TIMEOUT_SECONDS = 120.0
#: Longest answer that is read.
DEFAULT_ANSWER_BYTES = 256 * 1024 * 1024
_SHOWN_CHARACTERS = 200
#: Errors come as problem details (RFC 9457), which have a code; a server that does not know them sends JSON.
_ACCEPTED = "application/json, application/problem+json"

_Query = Mapping[str, "str | int | Sequence[str] | None"]


class Rest:
    """Each call uses a connection of its own, in a thread, and raises ApiError unless the answer is 2xx and JSON.

    Nothing is retried: of a publication only the caller knows whether it is still wanted. Posting a signed quote again
    is safe. Redirects are not followed, so no other server gets the key.
    """

    def __init__(
        self,
        url: str,
        api_key: str | Credentials,
        chain_id: str | int,
        *,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        max_answer_bytes: int = DEFAULT_ANSWER_BYTES,
    ) -> None:
        parts = urlsplit(url.rstrip("/"))
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"Not the URL of a service: {url}")
        self._url = parts
        self._credentials = Credentials(api_key) if isinstance(api_key, str) else api_key
        self._chain_id = str(chain_id)
        self._timeout = timeout
        self._max_answer_bytes = max_answer_bytes
        #: The key's quotas by name, each as the last answer that named it said; `quotes` is in those of POST /quotes.
        self.quotas: Mapping[str, Quota] = {}

    async def quotes(
        self,
        *,
        pool_address: str,
        side: Side,
        size: int,
        provider: str | None = None,
        taker: str | None = None,
        as_of: AsOf | None = None,
    ) -> list[OrderbookQuote]:
        """The best quotes that cover `size` (1e-18); with `taker` the taker's private ones are merged in."""
        query: _Query = {
            "poolAddress": pool_address,
            "side": side,
            "size": size,
            "provider": provider,
            "taker": taker,
            **_as_of(as_of),
        }
        return cast("list[OrderbookQuote]", await self._get("/quotes", self._of_chain(query)))

    async def cover(
        self,
        *,
        side: Side,
        size: int,
        pool_address: str | None = None,
        instrument: str | None = None,
        provider: str | None = None,
        taker: str | None = None,
    ) -> CoverTerms:
        """The same with what filling them takes: fees, collateral, the approval and the calls of each leg.

        Give the pool's address or the name of its option.
        """
        query: _Query = {
            "poolAddress": pool_address,
            "instrument": instrument,
            "side": side,
            "size": size,
            "provider": provider,
            "taker": taker,
        }
        return cast(CoverTerms, await self._get("/quotes/cover", self._of_chain(query)))

    async def rfq_quotes(self, *, pool_address: str, side: Side, taker: str) -> list[OrderbookQuote]:
        """One taker's private quotes, best first."""
        query = {"poolAddress": pool_address, "side": side, "taker": taker}
        return cast("list[OrderbookQuote]", await self._get("/rfq_quotes", self._of_chain(query)))

    async def orders(
        self,
        *,
        pool_address: str | None = None,
        side: Side | None = None,
        provider: str | None = None,
        taker: str | None = None,
        size: int | None = None,
        quote_ids: Sequence[str] | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        as_of: AsOf | None = None,
    ) -> Orders:
        """Orders by any mix of filters, newest first. `taker` "*": also private ones of every taker.

        Of `quote_ids` give 40 at a time over a network.
        """
        if quote_ids is not None and len(quote_ids) == 0:
            # A query without ids would ask for all.
            empty: Orders = {"validQuotes": [], "invalidQuotes": []}
            if limit is not None:
                empty["nextCursor"] = None
            return empty
        query: _Query = {
            "poolAddress": pool_address,
            "side": side,
            "provider": provider,
            "taker": taker,
            "size": size,
            "quoteIds": quote_ids,
            "limit": limit,
            "cursor": cursor,
            **_as_of(as_of),
        }
        return cast(Orders, await self._get("/orders", self._of_chain(query)))

    async def book(self, pool: str, *, depth: int | None = None, as_of: AsOf | None = None) -> Book:
        """The price levels of a pool's public quotes. `pool`: its address, or the name of its option."""
        query = self._of_chain({"depth": depth, **_as_of(as_of)})
        return cast(Book, await self._get(f"/book/{url_quote(pool, safe='')}", query))

    async def book_proof(self, pool_address: str, seq: int) -> BookProof:
        """Everything that computing a pool's book hash as of event `seq` from the chains takes."""
        path = f"/book/{url_quote(pool_address, safe='')}/proof"
        return cast(BookProof, await self._get(path, self._of_chain({"seq": seq})))

    async def tickers(self) -> Tickers:
        """Every pool's best prices, and what was filled in 24 hours."""
        return cast(Tickers, await self._get("/tickers", self._of_chain({})))

    async def past_tickers(self, as_of: AsOf) -> PastTickers:
        """The same as of a past event, block or time."""
        return cast(PastTickers, await self._get("/tickers", self._of_chain(_as_of(as_of))))

    async def trades(
        self,
        *,
        pool_address: str | None = None,
        instrument: str | None = None,
        provider: str | None = None,
        taker: str | None = None,
        side: Literal["buy", "sell"] | None = None,
        start: int | None = None,
        end: int | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> Trades:
        """Fills on the settlement chain, the newest first. `start` and `end`: Unix seconds, both included."""
        query: _Query = {
            "poolAddress": pool_address,
            "instrument": instrument,
            "provider": provider,
            "taker": taker,
            "side": side,
            "from": start,
            "to": end,
            "limit": limit,
            "cursor": cursor,
        }
        return cast(Trades, await self._get("/trades", self._of_chain(query)))

    async def candles(
        self,
        *,
        interval: CandleInterval,
        pool_address: str | None = None,
        instrument: str | None = None,
        start: int | None = None,
        end: int | None = None,
    ) -> Candles:
        """A pool's trades by intervals, the oldest first; those without a trade are left out."""
        pool: _Query = {"poolAddress": pool_address, "instrument": instrument}
        query: _Query = {**pool, "interval": interval, "from": start, "to": end}
        return cast(Candles, await self._get("/candles", self._of_chain(query)))

    async def post_quotes(self, quotes: Iterable[PostedQuote]) -> PostedQuotes:
        """Publishes 1 to 1,000 signed quotes. The next `quotes` returns what is in `created`."""
        return cast(PostedQuotes, await self._post("/quotes", list(quotes)))

    async def check_quotes(self, quotes: Iterable[PostedQuote]) -> list[CheckedQuote]:
        """A dry run: what POST would answer, and the digests that the server computes. Publishes nothing."""
        answer = await self._post("/quotes?dryRun=true", list(quotes))
        return cast("list[CheckedQuote]", answer["quotes"])

    async def withdraw_quotes(self, signed: Withdrawal) -> WithdrawnQuotes:
        """Hides quotes at once, until `restore_quotes`; on chain they can still be filled. See `sign_withdrawal`."""
        return cast(WithdrawnQuotes, await self._delete("/quotes", signed))

    async def withdraw_all_quotes(self, provider: str, *, pool_address: str | None = None) -> list[str]:
        """Hides all quotes of a provider that the client has signed in with. Returns the ids of those hidden by it."""
        body = {"chainId": self._chain_id, "provider": provider, "all": True}
        if pool_address is not None:
            body["poolAddress"] = pool_address
        ids: list[str] = []
        more = True
        while more:
            answer: WithdrawnQuotes = await self._delete("/quotes", body)
            ids += answer["withdrawn"]
            more = answer.get("more", False)
        return ids

    async def restore_quotes(self, signed: Withdrawal) -> RestoredQuotes:
        """Shows withdrawn quotes again. See `sign_restore`."""
        return cast(RestoredQuotes, await self._post("/quotes/restore", signed))

    async def withdrawn_quotes(
        self, provider: str, *, pool_address: str | None = None, limit: int | None = None, cursor: str | None = None
    ) -> WithdrawnQuotesPage:
        """A provider's withdrawn quotes, by id."""
        query: _Query = {"provider": provider, "poolAddress": pool_address, "limit": limit, "cursor": cursor}
        return cast(WithdrawnQuotesPage, await self._get("/quotes/withdrawn", self._of_chain(query)))

    async def quote_history(
        self, quote_id: str, *, after_seq: int | None = None, limit: int | None = None
    ) -> QuoteHistory:
        """A page of a quote's events, the oldest first."""
        query: _Query = {"afterSeq": after_seq, "limit": limit}
        return cast(QuoteHistory, await self._get(f"/quotes/{url_quote(quote_id, safe='')}/history", query))

    async def authorizations(self) -> Authorizations:
        """The id of this key, which providers sign, and the providers that it may act for."""
        return cast(Authorizations, await self._get("/authorizations", {}))

    async def authorize_key(self, signed: Authorization) -> Authorizations:
        """Lets this key act for a provider until the deadline. See `sign_key_authorization`."""
        return cast(Authorizations, await self._post("/authorizations", signed))

    async def revoke_key(
        self, provider: str, signed: Revocation | None = None, *, key_id: str | None = None
    ) -> Authorizations:
        """Ends that. The answer has the authorisations that this key still has.

        This key's own authorisation ends without a signature. Another key's takes `sign_key_revocation`, or `key_id`
        after a sign-in with the provider's address.
        """
        body: Revocation = {"chainId": self._chain_id, "provider": provider} if signed is None else signed.copy()
        if key_id is not None:
            body["keyId"] = key_id
        return cast(Authorizations, await self._delete("/authorizations", body))

    async def heartbeat(self, provider: str, timeout_seconds: int) -> Timer:
        """All quotes of the provider are withdrawn unless another comes in that time; 0 stops the timer."""
        body = {"chainId": self._chain_id, "provider": provider, "timeoutSeconds": timeout_seconds}
        return cast(Timer, await self._post("/heartbeat", body))

    async def set_fill_limit(self, limit: FillLimit) -> FillLimits:
        """All quotes of the provider in a pool are withdrawn once more was filled within the window."""
        return cast(FillLimits, await self._post("/fill_limits", limit))

    async def fill_limits(self, provider: str) -> FillLimits:
        """The limits of a provider that this key may act for."""
        return cast(FillLimits, await self._get("/fill_limits", self._of_chain({"provider": provider})))

    async def open_rfq(
        self,
        taker: str,
        legs: Sequence[RfqLeg],
        *,
        client_id: str | None = None,
        valid_until: int | None = None,
        min_quotes: int | None = None,
        makers: Sequence[str] | None = None,
        anonymous: bool | None = None,
    ) -> list[RfqRecord]:
        """Asks makers for quotes of 1 to 8 legs: a request for each. The same again with a `client_id` is safe."""
        body = {
            "chainId": self._chain_id,
            "taker": taker,
            "legs": list(legs),
            "clientId": client_id,
            "validUntil": valid_until,
            "minQuotes": min_quotes,
            "makers": makers,
            "anonymous": anonymous,
        }
        answer = await self._post("/rfqs", {name: value for name, value in body.items() if value is not None})
        return cast("list[RfqRecord]", answer["rfqs"])

    async def rfqs(
        self,
        *,
        status: RfqStatus | None = None,
        pool_address: str | None = None,
        side: Side | None = None,
        taker: str | None = None,
        package_id: str | None = None,
        client_id: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
    ) -> RfqsPage:
        """The key's own requests, the newest first."""
        query: _Query = {
            "status": status,
            "poolAddress": pool_address,
            "side": side,
            "taker": taker,
            "packageId": package_id,
            "clientId": client_id,
            "limit": limit,
            "cursor": cursor,
        }
        return cast(RfqsPage, await self._get("/rfqs", self._of_chain(query)))

    async def cancel_rfq(self, rfq_id: str) -> list[RfqRecord]:
        """Cancels a request, or all legs of a package."""
        answer = await self._delete(f"/rfqs/{url_quote(rfq_id, safe='')}", None)
        return cast("list[RfqRecord]", answer["rfqs"])

    async def rfq_cover(self, rfq_id: str) -> RfqCover:
        """Price of a request, or of a package, by the quotes of the book."""
        return cast(RfqCover, await self._get(f"/rfqs/{url_quote(rfq_id, safe='')}/cover", {}))

    async def rfq_competition(self, rfq_id: str, provider: str) -> RfqCompetition:
        """How a maker stands among those that answer a request."""
        query: _Query = {"provider": provider}
        return cast(RfqCompetition, await self._get(f"/rfqs/{url_quote(rfq_id, safe='')}/competition", query))

    async def pools(
        self, *, base: str | None = None, quote: str | None = None, expiration: str | None = None
    ) -> list[Pool]:
        """Pools deployed in the last 90 days that have not expired."""
        query = {"base": base, "quote": quote, "expiration": expiration}
        return cast("list[Pool]", await self._get("/pools", query))

    async def instruments(self) -> list[Instrument]:
        """Every pool that has a name and has not expired."""
        return cast("list[Instrument]", await self._get("/instruments", {}))

    async def option_balances(self, wallet: str | None = None) -> OptionBalances:
        """Positions of a wallet in every pool that was deployed; default the operator's."""
        return cast(OptionBalances, await self._get("/account/option_balances", {"walletAddr": wallet}))

    async def collateral_balances(self, wallet: str | None = None) -> CollateralBalances:
        """Whole tokens that a wallet has of every token of the chain; default the operator's."""
        return cast(CollateralBalances, await self._get("/account/collateral_balances", {"walletAddr": wallet}))

    async def deploy_pools(self, options: Iterable[Option]) -> DeployedPools:
        """Deploys 1 to 100 pools. Raises ValueError for a strike that the server would round, as does `settle`."""
        return cast(DeployedPools, await self._post("/pools", list(options)))

    async def vault_quote(self, option: Option, *, size: Number, direction: Literal["buy", "sell"]) -> VaultQuote:
        """The price of a trade of `size` contracts with the pair's vault, for the operator and now."""
        query = {
            "base": option["base"],
            "quote": option["quote"],
            "expiration": option["expiration"],
            "strike": _digits(option["strike"]),
            "type": option["type"],
            "size": _digits(size),
            "direction": direction,
        }
        return cast(VaultQuote, await self._get("/vaults/quote", query))

    async def settle(self, options: Iterable[Option]) -> Settled:
        """Settles the operator's positions in 1 to 1,000 expired options."""
        return cast(Settled, await self._post("/pool/settle", list(options)))

    async def sign_in_nonce(self) -> str:
        """For one sign-in message of the key; `Client.sign_in` does all of it."""
        return cast(str, (await self._post("/auth/nonce", {}))["nonce"])

    async def verify_sign_in(
        self, message: str, signature: str, *, keep: Literal["session", "key"] = "session"
    ) -> VerifiedSignIn:
        """Proves an address with a signed message."""
        body = {"message": message, "signature": signature, "keep": keep}
        return cast(VerifiedSignIn, await self._post("/auth/verify", body))

    async def create_key_nonce(self) -> str:
        """For one `create_key`; `request_api_key` does all of it."""
        return cast(str, (await self._post("/auth/keys/nonce", {}))["nonce"])

    async def create_key(self, message: str, signature: str) -> CreatedKey:
        """Creates an API key of the self tier for the address that signed."""
        return cast(CreatedKey, await self._post("/auth/keys", {"message": message, "signature": signature}))

    async def end_session(self) -> bool:
        """Ends the session whose token is sent as the key. False: it was an API key."""
        return cast(bool, (await self._post("/auth/signout", {}))["signedOut"])

    async def ready(self) -> Readiness:
        """Whether the server has read both chains to their heads, and why not."""
        status, body, is_json, headers = await self._ask("GET", "/ready", None)
        # A proxy that does not reach the server answers 503, too.
        if not (is_json and isinstance(body, dict) and isinstance(body.get("ready"), bool)):
            raise ApiError(status, body, headers)
        return cast(Readiness, body)

    def _of_chain(self, query: _Query) -> _Query:
        return {**query, "chainId": self._chain_id}

    async def _get(self, path: str, query: _Query) -> Any:
        return await self._call("GET", path + _query_string(query), None)

    async def _post(self, path: str, body: object) -> Any:
        return await self._call("POST", path, json.dumps(body, default=_json_number).encode())

    async def _delete(self, path: str, body: object | None) -> Any:
        return await self._call("DELETE", path, None if body is None else json.dumps(body).encode())

    async def _call(self, method: str, path: str, sent: bytes | None) -> Any:
        status, body, is_json, headers = await self._ask(method, path, sent)
        if not 200 <= status <= 299 or not is_json:
            raise ApiError(status, body, headers)
        return body

    async def _ask(self, method: str, path: str, sent: bytes | None) -> tuple[int, Any, bool, Mapping[str, str]]:
        key = self._credentials.current
        status, text, headers = await asyncio.to_thread(self._exchange, key, method, path, sent)
        # A session that has ended: the server has done nothing, and the key may still be good.
        if status == 401 and self._credentials.drop(key):
            key = self._credentials.current
            status, text, headers = await asyncio.to_thread(self._exchange, key, method, path, sent)
        self.quotas = {**self.quotas, **_quotas(headers)}
        try:
            return status, json.loads(text, parse_float=Decimal), True, headers
        except ValueError:
            message = text[:_SHOWN_CHARACTERS].decode(errors="replace")
            return status, {"message": message} if message else None, False, headers

    def _exchange(self, api_key: str, method: str, path: str, sent: bytes | None) -> tuple[int, bytes, Mapping[str, str]]:
        kind = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
        connection = kind(cast(str, self._url.hostname), self._url.port, timeout=self._timeout)
        headers = {"accept": _ACCEPTED, "x-apikey": api_key}
        if sent is not None:
            headers["content-type"] = "application/json"
        try:
            connection.request(method, self._url.path + path, sent, headers)
            answer = connection.getresponse()
            text = answer.read(self._max_answer_bytes + 1)
            if len(text) > self._max_answer_bytes:
                raise QuotebookError(f"The answer has more than {self._max_answer_bytes} bytes")
            # `read` of a number of bytes does not compare with content-length.
            if answer.length:
                raise ConnectionError(f"The answer ended {answer.length} bytes early")
            return answer.status, text, {name.lower(): value for name, value in answer.getheaders()}
        except OSError:
            raise
        except HTTPException as error:
            raise ConnectionError(f"The answer is not whole HTTP: {error!r}") from error
        finally:
            connection.close()


def _query_string(query: _Query) -> str:
    """With its `?`; lists as `name[]=a&name[]=b`; what is None is left out."""
    pairs: list[str] = []
    for name, value in query.items():
        if value is None:
            continue
        if isinstance(value, (str, int)):
            pairs.append(f"{name}={url_quote(str(value), safe='')}")
        else:
            pairs.extend(f"{name}[]={url_quote(item, safe='')}" for item in value)
    return f"?{'&'.join(pairs)}" if pairs else ""


def _quotas(headers: Mapping[str, str]) -> dict[str, Quota]:
    """Of `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-10): `"name";r=1;t=2, ...`."""
    both = f"{headers.get('ratelimit', '')},{headers.get('ratelimit-policy', '')}"
    members = re.findall(r'"([^"]*)"((?:;[a-z]=\d+)*)', both)
    parameters: dict[str, dict[str, int]] = {}
    for name, text in members:
        parameters.setdefault(name, {}).update((key, int(value)) for key, value in re.findall(r";([a-z])=(\d+)", text))
    return {
        name: {"left": each["r"], "perSecond": each["q"] / each["w"]}
        for name, each in parameters.items()
        if "r" in each and "q" in each and each.get("w")
    }


def _as_of(point: AsOf | None) -> _Query:
    point = point or {}
    return {"asOfSeq": point.get("seq"), "asOfBlock": point.get("block"), "asOfTime": point.get("time")}


def _digits(number: Number) -> str:
    """Without an exponent."""
    return format(number, "f") if isinstance(number, Decimal) else str(number)


def _json_number(value: object) -> float:
    """The server reads numbers of bodies as floats. Raises ValueError for one that no float's shortest digits give."""
    if not isinstance(value, Decimal):
        raise TypeError(f"{type(value).__name__} is no JSON")
    number = float(value)
    if not value.is_finite() or Decimal(repr(number)) != value:
        raise ValueError(f"The server would read {value} as {number}: give at most 15 digits")
    return number
