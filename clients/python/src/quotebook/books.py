"""Books as the feed's messages add up, with the hashes that the server's have to equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .signing import level_term, quote_term
from .wire import OrderbookQuote, PriceLevel, PriceLevels, QuoteEvent, Side

_MODULUS = 2**256


class SetHash:
    """Sum modulo 2^256 of one term for each member: a member comes or goes with one addition, in any order."""

    def __init__(self) -> None:
        self._sum = 0

    def add(self, term: int) -> None:
        self._sum = (self._sum + term) % _MODULUS

    def remove(self, term: int) -> None:
        self._sum = (self._sum - term) % _MODULUS

    @property
    def text(self) -> str:
        """As on the wire."""
        return f"0x{self._sum:064x}"


class _KeyedQuotes:
    """The quotes under one key of a subscription."""

    def __init__(self) -> None:
        self.hash = SetHash()
        self.by_id: dict[str, OrderbookQuote] = {}

    def set(self, quote: OrderbookQuote) -> None:
        """A quote as it is from now on; one with nothing to fill leaves."""
        quote_id, fillable_size = quote["quoteId"], int(quote["fillableSize"])
        # An update keeps its place: of equal prices the older quote comes first.
        before = self.by_id.get(quote_id)
        if before is not None:
            self.hash.remove(quote_term(quote_id, int(before["fillableSize"])))
        if fillable_size == 0:
            self.by_id.pop(quote_id, None)
            return
        self.by_id[quote_id] = quote
        self.hash.add(quote_term(quote_id, fillable_size))

    def delete(self, quote_id: str) -> None:
        before = self.by_id.pop(quote_id, None)
        if before is not None:
            self.hash.remove(quote_term(quote_id, int(before["fillableSize"])))


class QuoteBook:
    """Every quote that a filter lets through and that can be filled."""

    def __init__(self) -> None:
        self._keys: dict[str, _KeyedQuotes] = {}

    def __len__(self) -> int:
        return sum(len(keyed.by_id) for keyed in self._keys.values())

    def __iter__(self) -> Iterator[OrderbookQuote]:
        """In no order."""
        for keyed in self._keys.values():
            yield from keyed.by_id.values()

    def get(self, quote_id: str) -> OrderbookQuote | None:
        found = (keyed.by_id.get(quote_id) for keyed in self._keys.values())
        return next((quote for quote in found if quote is not None), None)

    def side(self, pool_address: str, side: Side) -> list[OrderbookQuote]:
        """One side of a pool: best price first, of equal prices the one published earlier."""
        pool = pool_address.lower()
        sign = -1 if side == "bid" else 1
        quotes = [quote for quote in self if quote["poolAddress"] == pool and quote["isBuy"] == (side == "bid")]
        return sorted(quotes, key=lambda quote: (sign * int(quote["price"]), quote["ts"]))

    def hash(self, key: str) -> str:
        return self._keyed(key).hash.text

    def clear(self) -> None:
        self._keys.clear()

    def set(self, key: str, quote: OrderbookQuote) -> None:
        self._keyed(key).set(quote)

    def apply(self, event: QuoteEvent) -> None:
        keyed, body = self._keyed(event["key"]), event["body"]
        if event["type"] in _ENTERING or (event["type"] == "UNDO_QUOTE" and event["valid"]):
            keyed.set(body)
        else:
            keyed.delete(body["quoteId"])

    def _keyed(self, key: str) -> _KeyedQuotes:
        return self._keys.setdefault(key, _KeyedQuotes())


_ENTERING = ("POST_QUOTE", "REVALIDATE_QUOTE", "RESTORE_QUOTE", "FILL_QUOTE")


@dataclass(frozen=True)
class Level:
    """A price with what can be filled at it; amounts in 1e-18, `price` as the pool's quotes have it."""

    price: int
    size: int
    #: Quotes.
    count: int


class LevelBook:
    """One pool's price levels."""

    def __init__(self) -> None:
        self._hash = SetHash()
        self._sides: dict[Side, dict[int, Level]] = {"bid": {}, "ask": {}}
        #: Best first; absent until it is read after a change.
        self._sorted: dict[Side, list[Level]] = {}

    @property
    def bids(self) -> list[Level]:
        """The highest first."""
        return self._best_first("bid")

    @property
    def asks(self) -> list[Level]:
        """The lowest first."""
        return self._best_first("ask")

    @property
    def hash(self) -> str:
        return self._hash.text

    def clear(self) -> None:
        self._hash = SetHash()
        self._sorted.clear()
        for levels in self._sides.values():
            levels.clear()

    def set(self, levels: PriceLevels) -> None:
        """Levels as they are from now on; one without quotes leaves. Others stay."""
        for level in levels["bids"]:
            self._set("bid", level)
        for level in levels["asks"]:
            self._set("ask", level)

    def _best_first(self, side: Side) -> list[Level]:
        if side not in self._sorted:
            levels = self._sides[side].values()
            self._sorted[side] = sorted(levels, key=lambda level: level.price, reverse=side == "bid")
        # A copy: callers may change it.
        return list(self._sorted[side])

    def _set(self, side: Side, listed: PriceLevel) -> None:
        self._sorted.pop(side, None)
        level = Level(int(listed["price"]), int(listed["size"]), listed["count"])
        before = self._sides[side].pop(level.price, None)
        if before is not None:
            self._hash.remove(level_term(side, before.price, before.size, before.count))
        if level.count > 0:
            self._sides[side][level.price] = level
            self._hash.add(level_term(side, level.price, level.size, level.count))
