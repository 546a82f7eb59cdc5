"""Shapes of the wire: what routes take and give, and what the feed sends (docs/reference/api.md).

Amounts are decimal strings of 1e-18 units, times are Unix seconds unless their name ends in `Ms`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any, Literal, NotRequired, Required, TypedDict

Side = Literal["bid", "ask"]
#: Numbers of the option routes; those with decimals are exact.
Number = int | Decimal

ZERO_ADDRESS = "0x0000000000000000000000000000000000000000"


class PoolKey(TypedDict):
    base: str
    quote: str
    oracleAdapter: str
    strike: str
    maturity: int
    isCallPool: bool


class Signature(TypedDict):
    r: str
    s: str
    v: int


class PostedQuote(TypedDict):
    """An item of the body of POST /quotes."""

    poolKey: PoolKey
    chainId: str
    provider: str
    taker: str
    price: str
    size: str
    isBuy: bool
    deadline: int
    salt: int
    signature: Signature


class OrderbookQuote(PostedQuote):
    """A quote as the book has it."""

    quoteId: str
    poolAddress: str
    ts: int
    fillableSize: str
    instrument: NotRequired[str]
    """On the feed, of a pool with the standard oracle adapter: `WETH-USDC-29JAN27-2000-C`."""


class InvalidQuote(TypedDict):
    #: The pool's name for it.
    reason: str
    quote: OrderbookQuote


class _Orders(TypedDict):
    validQuotes: list[OrderbookQuote]
    invalidQuotes: list[InvalidQuote]


class Orders(_Orders, total=False):
    #: With `limit`; None: there are no more.
    nextCursor: str | None


class FailedQuote(TypedDict):
    reason: str
    quote: PostedQuote


class PostedQuotes(TypedDict):
    created: list[OrderbookQuote]
    failed: list[FailedQuote]
    exists: list[OrderbookQuote]


class CheckedQuote(TypedDict):
    """The result of a dry run for one quote."""

    outcome: Literal["created", "failed", "exists"]
    reasons: list[str]
    poolAddress: str | None
    domainSeparator: str | None
    digest: str | None
    signer: str | None


class BestPrice(TypedDict):
    price: str
    size: str


class Ticker(TypedDict):
    poolAddress: str
    poolKey: PoolKey
    bid: BestPrice | None
    ask: BestPrice | None
    filledSize24h: str
    #: None: not known. Absent: the server is older.
    volume24h: NotRequired[str | None]
    #: Contracts that are held, as the chain said lately. None: not known. Absent: the server is older.
    openInterest: NotRequired[str | None]


class Tickers(TypedDict):
    epoch: str
    seq: int
    tsMs: int
    tickers: list[Ticker]


class TradeRow(TypedDict):
    """A fill. `side` is what the taker did."""

    poolAddress: str
    instrument: str | None
    quoteId: str
    side: Literal["buy", "sell"]
    price: str
    size: str
    fee: str
    provider: str
    taker: str
    time: int
    blockNumber: int
    blockHash: str
    txHash: str
    logIndex: int


class Trades(TypedDict):
    since: int
    #: The `cursor` of the next page; None on the last one.
    next: str | None
    trades: list[TradeRow]


class PastTicker(TypedDict):
    poolAddress: str
    poolKey: PoolKey
    bid: BestPrice | None
    ask: BestPrice | None
    #: None: not all of the day before is kept.
    filledSize24h: str | None
    volume24h: str | None
    openInterest: NotRequired[None]


class PastTickers(TypedDict):
    epoch: str
    seq: int
    tsMs: int
    tickers: list[PastTicker]


CandleInterval = Literal["1m", "5m", "15m", "1h", "4h", "1d"]


class Candle(TypedDict):
    #: When the interval begins.
    time: int
    open: str
    high: str
    low: str
    close: str
    volume: str
    count: int


class Candles(TypedDict):
    since: int
    candles: list[Candle]


class Instrument(TypedDict):
    """A pool by the name of its option: `WETH-USDC-29JAN27-2000-C`."""

    instrument: str
    poolAddress: str
    poolKey: PoolKey
    expiry: int
    #: In quote tokens, a decimal number.
    strike: str


class Position(TypedDict):
    #: Of the pool.
    token_address: str
    #: Contracts.
    amount: Number
    name: str
    exposure: Literal["SHORT", "LONG"]


class OptionBalances(TypedDict):
    open: list[Position]
    expired: list[Position]


class CollateralBalance(TypedDict):
    token_address: str
    symbol: str
    #: Whole tokens.
    balance: Number


class UnknownBalance(TypedDict):
    #: Its symbol.
    token: str
    reason: str


class CollateralBalances(TypedDict):
    success: list[CollateralBalance]
    failed: list[UnknownBalance]


class Quota(TypedDict):
    """The rest of a key's quota, and how fast it returns."""

    left: int
    perSecond: float


class CancelledQuotes(TypedDict):
    """Ids. `failed`: of other makers, or the transaction failed; `omitted`: not in the book."""

    success: list[str]
    failed: list[str]
    omitted: list[str]


class Withdrawal(TypedDict):
    """Body of DELETE /quotes and POST /quotes/restore. A key that has proven the provider's address signs nothing."""

    chainId: str
    provider: str
    quoteIds: list[str]
    nonce: NotRequired[str]
    deadline: NotRequired[int]
    signature: NotRequired[Signature]


class _ChangedQuotes(TypedDict):
    """Ids. `unchanged`: were so before; `unknown`: not the provider's, or not in the book."""

    unchanged: list[str]
    unknown: list[str]
    #: Of the last event.
    seq: int


class WithdrawnQuotes(_ChangedQuotes):
    withdrawn: list[str]
    #: That they can still be filled on the chain.
    notice: str
    #: Of `all`: there are more than one request takes.
    more: NotRequired[bool]


class RestoredQuotes(_ChangedQuotes):
    restored: list[str]


class WithdrawnQuotesPage(TypedDict):
    #: The `cursor` of the next page; None on the last one.
    next: str | None
    quotes: list[OrderbookQuote]


class Authorization(TypedDict):
    """Body of POST /authorizations."""

    chainId: str
    provider: str
    nonce: NotRequired[str]
    deadline: NotRequired[int]
    signature: NotRequired[Signature]


class Revocation(Authorization):
    """Body of DELETE /authorizations. A key gives up its own authorisation without a signature."""

    #: Of the key whose authorisation ends. Absent: the calling key.
    keyId: NotRequired[str]


class ActiveAuthorization(TypedDict):
    provider: str
    #: Unix seconds.
    until: int
    #: Of the timer that heartbeats set; 0: not set.
    heartbeatSeconds: int
    #: Of CANCEL_ON_DISCONNECT; 0: it is off.
    disconnectSeconds: int


class Authorizations(TypedDict):
    #: Of the calling key: what providers sign.
    keyId: str
    authorizations: list[ActiveAuthorization]


class Timer(TypedDict):
    provider: str
    seconds: int
    #: Unix seconds.
    authorizedUntil: int


class _FillBounds(TypedDict):
    poolAddress: str
    contracts: str
    fills: int
    windowSeconds: int


class FillLimit(_FillBounds):
    """Body of POST /fill_limits."""

    chainId: str
    provider: str
    nonce: NotRequired[str]
    deadline: NotRequired[int]
    signature: NotRequired[Signature]


class FillLimits(TypedDict):
    provider: str
    fillLimits: list[_FillBounds]


class RfqLeg(TypedDict):
    """Names its pool by `poolKey` or by `poolAddress`. `side` is the book's: `ask` to buy. `size` in 1e-18."""

    side: Side
    size: str
    poolAddress: NotRequired[str]
    poolKey: NotRequired[PoolKey]


RfqStatus = Literal["open", "quoted", "partly_filled", "filled", "cancelled", "expired"]


class RfqRecord(TypedDict):
    """A request for quotes, as the key that sent it sees it."""

    rfqId: str
    packageId: str | None
    #: From 0, of `legs`.
    leg: int
    legs: int
    clientId: str | None
    status: RfqStatus
    poolAddress: str
    side: Side
    size: str
    taker: str
    anonymous: bool
    makers: list[str]
    minQuotes: int
    openedAt: int
    validUntil: int
    filledSize: str
    #: How many quotes of the book answer it.
    quotes: int
    #: None while there are fewer than `minQuotes`.
    best: OrderbookQuote | None


class RfqsPage(TypedDict):
    #: The `cursor` of the next page; None on the last one.
    next: str | None
    rfqs: list[RfqRecord]


class RfqLegCover(TypedDict):
    rfqId: str
    poolAddress: str
    side: Side
    covered: str
    shortfall: str
    averagePrice: str | None


class NetPremium(TypedDict):
    token: str
    #: In 1e-18 tokens, without fees; below 0 the taker receives it.
    amount: str


class RfqCover(TypedDict):
    seq: int
    legs: list[RfqLegCover]
    net: list[NetPremium]


class RfqCompetition(TypedDict):
    rfqId: str
    status: RfqStatus
    quotes: int
    #: Of the maker's best quote, 1 for the best price; None: the maker has none.
    rank: int | None


class QuoteHistory(TypedDict):
    """`events`, the oldest first: `seq`, `tsMs`, `type`, `cause`, and more by `type`."""

    quoteId: str
    since: int
    asOfSeq: int
    #: The `after_seq` of the next page; None on the last one.
    next: int | None
    events: list[dict[str, Any]]


class AsOf(TypedDict, total=False):
    """A point of the past: one of an event, a settlement block, or engine time in milliseconds."""

    seq: int
    block: int
    time: int


class CoverLeg(TypedDict):
    take: str
    quote: OrderbookQuote


class Cover(TypedDict):
    covered: str
    shortfall: str
    averagePrice: str | None
    worstPrice: str | None
    deadline: int | None
    legs: list[CoverLeg]


class FillCall(TypedDict):
    """A transaction for the taker to send."""

    to: str
    data: str


class Approval(TypedDict):
    """The allowance that the taker gives before it fills."""

    token: str
    decimals: int
    spender: str
    #: For all legs, in the token's smallest unit.
    amount: str


class FillableLeg(CoverLeg):
    #: These four in the smallest unit of the collateral token.
    premium: str
    fee: str
    collateral: str
    pays: str
    call: FillCall


class CoverTerms(TypedDict):
    """The quotes that cover a size, ready to be filled."""

    epoch: str
    asOfSeq: int
    tsMs: int
    #: False: the pool has to be deployed before its quotes can be filled.
    isDeployed: bool
    covered: str
    shortfall: str
    averagePrice: str | None
    worstPrice: str | None
    deadline: int | None
    approval: Approval | None
    #: All legs in one transaction, which fills all or none; None with fewer than two.
    bundle: FillCall | None
    legs: list[FillableLeg]


class BookProof(TypedDict):
    """`docs/explanation/book-proofs.md` has the computation."""

    chainId: str
    poolAddress: str
    poolKey: PoolKey | None
    seq: int
    tsMs: int
    hash: str
    streamContract: str
    #: How far each chain was read; None: not at all.
    stream: dict[str, Any] | None
    settlement: dict[str, Any] | None
    quotes: list[dict[str, Any]]
    invalid: list[dict[str, Any]]
    withdrawn: list[dict[str, Any]]


class Option(TypedDict):
    base: str
    quote: str
    expiration: str
    strike: Number
    type: Literal["C", "P"]


class Pool(Option):
    poolAddress: str


class FailedOption(Option):
    reason: str


class DeployedPools(TypedDict):
    created: list[Pool]
    existed: list[Pool]
    failed: list[FailedOption]


class FailedSettlement(TypedDict):
    failedOption: Option
    reason: str


class Settled(TypedDict):
    success: list[Option]
    failed: list[FailedSettlement]


class VaultMarket(TypedDict):
    vault: str
    strike: Number
    expiration: str
    size: Number
    direction: Literal["buy", "sell"]


class VaultQuote(TypedDict):
    market: VaultMarket
    quote: Number
    takerFee: Number
    fee: Number


class VerifiedSignIn(TypedDict):
    address: str
    #: None: the API key has proven the address.
    token: str | None
    #: Unix seconds.
    expiresAt: int | None


class CreatedKey(TypedDict):
    #: Names the key to others.
    id: str
    #: The API key. It is shown this once.
    key: str
    tier: Literal["self"]
    address: str
    #: The address had a key, which is refused from now on.
    replaced: bool
    #: Days without a request until the key expires.
    unusedDays: int


class Readiness(TypedDict):
    ready: bool
    reasons: list[str]


class Cause(TypedDict):
    chain: Literal["stream", "settlement"]
    blockNumber: int
    txHash: str
    logIndex: int


class _Numbered(TypedDict):
    key: str
    seq: int
    prevSeq: int
    tsMs: int


class _QuoteEvent(_Numbered):
    type: Literal[
        "POST_QUOTE",
        "FILL_QUOTE",
        "REMOVE_QUOTE",
        "CANCEL_QUOTE",
        "EXPIRE_QUOTE",
        "INVALIDATE_QUOTE",
        "REVALIDATE_QUOTE",
        "UNDO_QUOTE",
        "WITHDRAW_QUOTE",
        "RESTORE_QUOTE",
    ]
    cause: Cause | None
    body: OrderbookQuote


class QuoteEvent(_QuoteEvent, total=False):
    """A change of one quote."""

    #: Of FILL_QUOTE: what this fill took.
    size: str
    #: Of INVALIDATE_QUOTE: the pool's name for it. Of WITHDRAW_QUOTE: REQUESTED, DISCONNECTED,
    #: HEARTBEAT_MISSED or FILL_LIMIT.
    reason: str
    #: Of UNDO_QUOTE: whether the quote is in the book now.
    valid: bool


class Rfq(_Numbered, total=False):
    """RFQ: a taker asks makers for a quote; `body` is as the taker wrote it. RFQ_UPDATE: what became of a request."""

    type: Required[Literal["RFQ", "RFQ_UPDATE"]]
    body: Required[dict[str, Any]]
    #: Of RFQ: `rfqId`, `validUntil` and `anonymous`. Absent: the request is not followed.
    terms: dict[str, Any]


class RfqStatusEvent(TypedDict):
    """A change of a request for quotes of the key."""

    type: Literal["RFQ_STATUS"]
    #: Of the event that changed it.
    seq: int
    tsMs: int
    body: RfqRecord


class Trade(_Numbered):
    """TRADE: a fill, `body` as in GET /trades. UNDO_TRADES: the trades of all blocks after `body.blockNumber` are undone."""

    type: Literal["TRADE", "UNDO_TRADES"]
    body: dict[str, Any]


class PriceLevel(TypedDict):
    price: str
    size: str
    count: int


class Book(TypedDict):
    epoch: str
    seq: int
    tsMs: int
    poolAddress: str
    instrument: str | None
    levelsHash: str
    bids: list[PriceLevel]
    asks: list[PriceLevel]


class PriceLevels(TypedDict):
    bids: list[PriceLevel]
    asks: list[PriceLevel]


class _BookChange(TypedDict):
    type: Literal["ORDERBOOK_SNAPSHOT", "ORDERBOOK_UPDATE"]
    key: str
    seq: int
    tsMs: int
    body: PriceLevels


class BookChange(_BookChange, total=False):
    """ORDERBOOK_SNAPSHOT: the whole book. ORDERBOOK_UPDATE: the levels that changed; one with `count` 0 has left."""

    levelsHash: str
    prevSeq: int


class Heartbeat(TypedDict):
    type: Literal["HEARTBEAT"]
    seq: int
    serverTimeMs: int
    chains: dict[str, Any]
    books: list[dict[str, str]]
