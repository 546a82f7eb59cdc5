"""Everything of one Quotebook service: its routes, its feed, and the signing of quotes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, TypeVar, cast

from .calls import SocketCalls
from .feed import (
    FeedOptions,
    Followed,
    FollowedBook,
    FollowedCover,
    FollowedEvents,
    FollowedQuotes,
    FollowedRfqs,
    FollowedTickers,
    FollowedTrades,
    Timeouts,
    ask_once,
)
from .rest import Rest
from .sign_in import Credentials, Session, sign_nonce
from .signing import Account, QuoteTerms, SignedQuote
from .wire import (
    ZERO_ADDRESS,
    CancelledQuotes,
    CheckedQuote,
    PoolKey,
    PostedQuote,
    PostedQuotes,
    RfqStatusEvent,
    Side,
    Timer,
    VerifiedSignIn,
)

_DEFAULT_LIFE_SECONDS = 3600
#: So many quotes of one client in a millisecond have salts of their own; below 2^53 until the year 2255.
_SALTS_PER_MS = 1000

#: An address: its private quotes too; `*`: everybody's.
TakerFilter = str
_F = TypeVar("_F", bound="Followed[Any]")


class Client:
    """`url` such as `http://127.0.0.1:8080`; `chain_id` is the settlement chain's.

    Use it with `async with`, or call `close`. Each thing that is followed takes a connection of its own.
    """

    def __init__(self, url: str, api_key: str, chain_id: str | int, *, timeouts: Timeouts | None = None) -> None:
        #: The HTTP routes.
        self._credentials = Credentials(api_key)
        self.rest = Rest(url, self._credentials, chain_id)
        self._url = url.rstrip("/")
        self._chain_id = str(chain_id)
        # ws: for http:, wss: for https:.
        feed_url = "ws" + url.rstrip("/").removeprefix("http")
        self._options = FeedOptions(feed_url, self._credentials, timeouts or Timeouts())
        self._calls = SocketCalls(self._options)
        self._followed: list[Followed[Any]] = []
        self._last_salt = 0

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends everything that is followed, and the connection of calls."""
        followed, self._followed = self._followed, []
        await asyncio.gather(self._calls.close(), *(each.close() for each in followed))

    @property
    def session(self) -> Session | None:
        """It stands for the key. None: the client has not signed in, or the server has refused its token."""
        return self._credentials.session

    async def sign_in(
        self, account: Account, *, domain: str | None = None, keep: Literal["session", "key"] = "session"
    ) -> VerifiedSignIn:
        """Proves the account's address, so that a service with `privacy` proven shows what is private to it.

        From then on calls, their connection and new ones use the session. With `keep="key"` the API key has proven the
        address.
        `domain` is the host that the signer means, by default that of the client's URL.
        """
        message, signature = await sign_nonce(
            self.rest.sign_in_nonce, account, url=self._url, domain=domain, chain_id=self._chain_id
        )
        result = await self.rest.verify_sign_in(message, signature, keep=keep)
        token, expires_at = result["token"], result["expiresAt"]
        if token is not None and expires_at is not None:
            self._credentials.session = Session(result["address"], token, expires_at)
        await self._calls.authorize()
        return result

    async def sign_out(self) -> None:
        """Ends the session on the server, which closes its connections; they are opened again with the key."""
        session = self._credentials.session
        if session is not None:
            await self.rest.end_session()
            self._credentials.drop(session.token)

    def follow_quotes(
        self,
        *,
        pool_address: str | None = None,
        side: Side | None = None,
        provider: str | None = None,
        taker: TakerFilter | None = None,
        size: int | None = None,
    ) -> FollowedQuotes:
        """Keeps every quote that the filter lets through. `size`: the least size as first signed, in 1e-18."""
        return self._add(FollowedQuotes(self._options, self._filter(pool_address, side, provider, taker, size)))

    def follow_events(
        self,
        *,
        pool_address: str | None = None,
        side: Side | None = None,
        provider: str | None = None,
        taker: TakerFilter | None = None,
        size: int | None = None,
    ) -> FollowedEvents:
        """Reports the events of quotes from now on, and keeps no quotes."""
        return self._add(FollowedEvents(self._options, self._filter(pool_address, side, provider, taker, size)))

    def follow_book(self, *, pool_address: str, depth: int | None = None, taker: str | None = None) -> FollowedBook:
        """Keeps one pool's price levels. `depth`: levels of each side, default all that the server shows."""
        body = self._filter(pool_address, None, None, taker, None)
        if depth is not None:
            body["depth"] = depth
        return self._add(FollowedBook(self._options, body))

    def follow_tickers(self, *, pool_address: str | None = None) -> FollowedTickers:
        """Keeps every pool's best prices, or one pool's."""
        return self._add(FollowedTickers(self._options, self._filter(pool_address, None, None, None, None)))

    def follow_cover(
        self,
        *,
        pool_address: str,
        side: Side,
        size: int,
        taker: str | None = None,
        provider: str | None = None,
    ) -> FollowedCover:
        """Keeps the quotes that cover `size` (1e-18 contracts) best. `side` is the book's: `ask` to buy."""
        return self._add(FollowedCover(self._options, self._filter(pool_address, side, provider, taker, size)))

    def follow_trades(
        self,
        *,
        pool_address: str | None = None,
        instrument: str | None = None,
        provider: str | None = None,
    ) -> FollowedTrades:
        """Reports fills on the settlement chain from now on. Name a pool by its address or by its option."""
        wish = self._filter(pool_address, None, provider, None, None)
        return self._add(FollowedTrades(self._options, wish if instrument is None else {**wish, "instrument": instrument}))

    def follow_rfqs(
        self,
        *,
        pool_address: str | None = None,
        side: Side | None = None,
        provider: str | None = None,
        taker: str | None = None,
        size: int | None = None,
    ) -> FollowedRfqs:
        """Takers' requests for every maker. `provider`: also those that name this maker."""
        return self._add(FollowedRfqs(self._options, self._filter(pool_address, side, provider, taker, size)))

    async def request_quotes(
        self,
        *,
        side: Side,
        size: int,
        taker: str,
        pool_address: str | None = None,
        pool_key: PoolKey | None = None,
    ) -> None:
        """Asks makers for quotes, of a pool by its address or its key. `side` is the book's: `ask` to buy.

        Returns once the request is on the server's disk. Raises RefusedError, or ConnectionLostError when it is not
        known whether it was published.
        """
        if (pool_address is None) == (pool_key is None):
            raise TypeError("Give pool_address or pool_key")
        body: dict[str, Any] = {"side": side, "size": str(size), "taker": taker, "chainId": self._chain_id}
        if pool_address is None:
            body["poolKey"] = pool_key
        else:
            body["poolAddress"] = pool_address
        await ask_once(self._options, {"type": "RFQ", "body": body})

    async def connect(self) -> None:
        """Opens the connection of calls, unless it is open. Raises RefusedError, or ConnectionLostError."""
        await self._calls.open()

    def on_rfq_status(self, listener: Callable[[RfqStatusEvent], None]) -> Callable[[], None]:
        """Reports changes of the key's requests for quotes, with the best quote. Returns a function that removes it.

        The server sends it over the connection of calls: open that with `connect`, again once it was lost. Meanwhile
        `rest.rfqs` has it.
        """
        return self._calls.rfq_statuses.add(listener)

    async def post_quotes(self, quotes: Iterable[PostedQuote]) -> PostedQuotes:
        """As `rest.post_quotes`, over one connection of the feed that all calls share.

        A message has at most 16 KiB, which is about twenty quotes. Raises RefusedError, whose `details` have `pending`
        when the publication is not confirmed yet; or ConnectionLostError, after which the quotes may be published.
        Posting them again is safe.
        """
        return cast(PostedQuotes, await self._calls.call({"type": "POST_QUOTES", "body": list(quotes)}))

    async def check_quotes(self, quotes: Iterable[PostedQuote]) -> list[CheckedQuote]:
        """As `rest.check_quotes`, over the connection of calls."""
        answer = await self._calls.call({"type": "POST_QUOTES", "dryRun": True, "body": list(quotes)})
        return cast("list[CheckedQuote]", answer["quotes"])

    async def cancel_quotes(self, quote_ids: Iterable[str]) -> CancelledQuotes:
        """Cancels quotes of the operator on chain, over the connection of calls; the key needs the scope operator."""
        message = {"type": "CANCEL_QUOTES", "body": {"quoteIds": list(quote_ids)}}
        return cast(CancelledQuotes, await self._calls.call(message))

    async def heartbeat(self, provider: str, timeout_seconds: int) -> Timer:
        """As `rest.heartbeat`, over the connection of calls."""
        body = {"chainId": self._chain_id, "provider": provider, "timeoutSeconds": timeout_seconds}
        return cast(Timer, await self._calls.call({"type": "PROVIDER_HEARTBEAT", "body": body}))

    async def cancel_on_disconnect(self, provider: str, grace_seconds: int) -> Timer:
        """All quotes of the provider are withdrawn so many seconds after the connection of calls ends; 0: never.

        It counts for the connection that is open: call it again after ConnectionLostError.
        """
        body = {"chainId": self._chain_id, "provider": provider, "graceSeconds": grace_seconds}
        return cast(Timer, await self._calls.call({"type": "CANCEL_ON_DISCONNECT", "body": body}))

    def sign_quote(
        self,
        account: Account,
        pool: Mapping[str, Any],
        *,
        side: Side,
        price: int,
        size: int,
        deadline: int | None = None,
        salt: int | None = None,
        taker: str = ZERO_ADDRESS,
    ) -> SignedQuote:
        """Signs a quote; `rest.post_quotes([signed.posted])` publishes it.

        `pool` has `poolAddress` and `poolKey`, as any quote of that pool. `deadline` is an hour from now by default,
        `salt` larger than any before.
        """
        now = time.time()
        self._last_salt = max(self._last_salt + 1, int(now * 1000) * _SALTS_PER_MS)
        terms = QuoteTerms(
            side,
            price,
            size,
            int(now) + _DEFAULT_LIFE_SECONDS if deadline is None else deadline,
            self._last_salt if salt is None else salt,
            taker,
        )
        return account.sign_quote(self._chain_id, pool["poolAddress"], pool["poolKey"], terms)

    def _add(self, followed: _F) -> _F:
        self._followed = [each for each in self._followed if not each._subscription.is_over]
        self._followed.append(followed)
        return followed

    def _filter(
        self, pool_address: str | None, side: Side | None, provider: str | None, taker: str | None, size: int | None
    ) -> dict[str, Any]:
        wish = {
            "chainId": self._chain_id,
            "poolAddress": pool_address,
            "side": side,
            "provider": provider,
            "taker": taker,
            "size": None if size is None else str(size),
        }
        return {name: value for name, value in wish.items() if value is not None}
