"""Digests and signatures of quotes (EIP-712), as the pool's contract checks them."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from ecdsa import SECP256k1, SigningKey
from ecdsa.ellipticcurve import INFINITY, PointJacobi
from ecdsa.util import sigencode_strings_canonize

from .wire import ZERO_ADDRESS, PoolKey, PostedQuote, Side, Signature

try:
    from Crypto.Hash import keccak
except ImportError:  # Debian's package has another name for the module.
    from Cryptodome.Hash import keccak  # type: ignore[no-redef]

_CURVE = SECP256k1.curve
_GENERATOR = SECP256k1.generator
_ORDER: int = SECP256k1.order
_PRIME: int = _CURVE.p()
_MAX_UINT256 = 2**256 - 1
#: JavaScript's largest exact integer: the wire has no larger ones.
_MAX_SAFE_INTEGER = 2**53 - 1
#: The contract takes v as 27 or 28.
_V_OFFSET = 27


def keccak256(data: bytes) -> bytes:
    return bytes(keccak.new(digest_bits=256, data=data).digest())


_DOMAIN_TYPE = keccak256(b"EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)")
_QUOTE_TYPE = keccak256(
    b"FillQuoteOB(address provider,address taker,uint256 price,uint256 size,bool isBuy,uint256 deadline,uint256 salt)"
)
_NAME_AND_VERSION = keccak256(b"Premia") + keccak256(b"1")


class SignatureError(ValueError):
    """No signature that the contract would take."""


@dataclass(frozen=True)
class QuoteTerms:
    """Terms of an offer. Amounts are whole numbers of 1e-18 units."""

    #: The side of the book: `bid` to buy options, `ask` to sell them.
    side: Side
    #: Base tokens per contract of a call, quote tokens per contract and unit of strike of a put; at most 1e18.
    price: int
    #: Contracts.
    size: int
    #: Unix seconds.
    deadline: int
    #: Tells quotes of the same terms apart; at most 2^53 - 1.
    salt: int
    #: The only account that may take the quote; the zero address: anyone.
    taker: str = ZERO_ADDRESS

    def __post_init__(self) -> None:
        if self.side not in ("bid", "ask"):
            raise ValueError(f"side is 'bid' or 'ask', not {self.side!r}")
        for name, most in (
            ("price", _MAX_UINT256),
            ("size", _MAX_UINT256),
            ("deadline", _MAX_SAFE_INTEGER),
            ("salt", _MAX_SAFE_INTEGER),
        ):
            value = getattr(self, name)
            # A float would lose digits of an amount in silence.
            if isinstance(value, bool) or not isinstance(value, int):
                raise TypeError(f"{name} is a whole number, not {value!r}")
            if not 0 <= value <= most:
                raise ValueError(f"{name} is out of bounds: {value}")


@dataclass(frozen=True)
class SignedQuote:
    """A quote that POST /quotes takes."""

    #: The digest that was signed: the quote's id from now on.
    quote_id: str
    posted: PostedQuote


@dataclass(frozen=True)
class Account:
    """A private key and its address. The key is in no `repr`."""

    private_key: str = field(repr=False)
    address: str = field(init=False)
    _signer: SigningKey = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        signer = SigningKey.from_string(_bytes_of(self.private_key, 32, "private key"), curve=SECP256k1)
        object.__setattr__(self, "_signer", signer)
        object.__setattr__(self, "address", _address_of(signer.verifying_key.to_string("raw")))

    def sign_digest(self, digest: bytes) -> Signature:
        """Deterministic (RFC 6979), s in the lower half of its range."""
        r_bytes, s_bytes = self._signer.sign_digest_deterministic(
            digest, hashfunc=sha256, sigencode=sigencode_strings_canonize
        )
        r, s = int.from_bytes(r_bytes, "big"), int.from_bytes(s_bytes, "big")
        # Of the two possible keys one is ours.
        v = next(v for v in (27, 28) if _recovered(digest, r, s, v) == self.address)
        return {"r": _word_text(r), "s": _word_text(s), "v": v}

    def sign_message(self, text: str) -> str:
        """Signs a text as wallets do (EIP-191)."""
        data = text.encode()
        signature = self.sign_digest(keccak256(b"\x19Ethereum Signed Message:\n" + str(len(data)).encode() + data))
        return f"{signature['r']}{signature['s'][2:]}{signature['v']:02x}"

    def sign_quote(self, chain_id: str | int, pool_address: str, pool_key: PoolKey, terms: QuoteTerms) -> SignedQuote:
        """`chain_id`: the settlement chain's."""
        digest = quote_digest(domain_separator(chain_id, pool_address), self.address, terms)
        posted: PostedQuote = {
            "poolKey": pool_key,
            "chainId": str(chain_id),
            "provider": self.address,
            "taker": terms.taker,
            "price": str(terms.price),
            "size": str(terms.size),
            "isBuy": terms.side == "bid",
            "deadline": terms.deadline,
            "salt": terms.salt,
            "signature": self.sign_digest(digest),
        }
        return SignedQuote(f"0x{digest.hex()}", posted)


def checksum_address(address: str) -> str:
    """With the capitals of EIP-55."""
    digits = _bytes_of(address, 20, "address").hex()
    hashed = keccak256(digits.encode()).hex()
    return "0x" + "".join(digit.upper() if int(nibble, 16) > 7 else digit for digit, nibble in zip(digits, hashed))


def domain_separator(chain_id: str | int, pool_address: str) -> bytes:
    """Of one pool on the settlement chain."""
    return keccak256(_DOMAIN_TYPE + _NAME_AND_VERSION + word(int(chain_id)) + address_word(pool_address))


def quote_digest(domain: bytes, provider: str, terms: QuoteTerms) -> bytes:
    """The digest that a maker signs; as hexadecimal text it is the quote's id."""
    struct = b"".join(
        (
            _QUOTE_TYPE,
            address_word(provider),
            address_word(terms.taker),
            word(terms.price),
            word(terms.size),
            word(int(terms.side == "bid")),
            word(terms.deadline),
            word(terms.salt),
        )
    )
    return keccak256(b"\x19\x01" + domain + keccak256(struct))


def recover_signer(digest: bytes, signature: Signature) -> str:
    """Address of the signer, in lower case. Raises SignatureError for what the contract refuses."""
    v = signature["v"]
    r = int.from_bytes(_bytes_of(signature["r"], 32, "r"), "big")
    s = int.from_bytes(_bytes_of(signature["s"], 32, "s"), "big")
    if v not in (27, 28):
        raise SignatureError(f"v is 27 or 28, not {v}")
    if not 0 < r < _ORDER or not 0 < s < _ORDER:
        raise SignatureError("r or s is out of range")
    if s > _ORDER // 2:
        raise SignatureError("s is in the upper half of its range")
    return _recovered(digest, r, s, v)


def quote_term(quote_id: str, fillable_size: int) -> int:
    """A quote's term of the book hash."""
    return int.from_bytes(keccak256(quote_id_bytes(quote_id) + word(fillable_size)), "big")


def level_term(side: Side, price: int, size: int, count: int) -> int:
    """A price level's term of the levels hash."""
    words = b"".join(word(value) for value in (0 if side == "bid" else 1, price, size, count))
    return int.from_bytes(keccak256(words), "big")


def _recovered(digest: bytes, r: int, s: int, v: int) -> str:
    """SEC 1, 4.1.6, for x below the order: Q = (s R - z G) / r."""
    y_squared = (pow(r, 3, _PRIME) + _CURVE.b()) % _PRIME
    y = pow(y_squared, (_PRIME + 1) // 4, _PRIME)
    if y * y % _PRIME != y_squared:
        raise SignatureError("r is no point of the curve")
    if y % 2 != v - _V_OFFSET:
        y = _PRIME - y
    inverse = pow(r, -1, _ORDER)
    z = int.from_bytes(digest, "big")
    point = PointJacobi(_CURVE, r, y, 1, _ORDER)
    key = point.mul_add(s * inverse % _ORDER, _GENERATOR, -z * inverse % _ORDER)
    if key == INFINITY:
        raise SignatureError("no key makes this signature")
    return _address_of(int(key.x()).to_bytes(32, "big") + int(key.y()).to_bytes(32, "big"))


def _address_of(public_key: bytes) -> str:
    return f"0x{keccak256(public_key)[-20:].hex()}"


def word(value: int) -> bytes:
    """A number as the ABI has it."""
    return value.to_bytes(32, "big")


def _word_text(value: int) -> str:
    return f"0x{value:064x}"


def address_word(address: str) -> bytes:
    """An address as the ABI has it."""
    return bytes(12) + _bytes_of(address, 20, "address")


def quote_id_bytes(quote_id: str) -> bytes:
    """Raises ValueError for a text that is no quote's id."""
    return _bytes_of(quote_id, 32, "quoteId")


def _bytes_of(text: str, length: int, name: str) -> bytes:
    digits = text.removeprefix("0x")
    try:
        value = bytes.fromhex(digits) if len(digits) == 2 * length else b""
    except ValueError:
        value = b""
    if len(value) != length:
        # Without the text: it may be a key.
        raise ValueError(f"{name} is 0x and {2 * length} hexadecimal digits")
    return value


__all__ = [
    "Account",
    "QuoteTerms",
    "SignatureError",
    "SignedQuote",
    "address_word",
    "checksum_address",
    "domain_separator",
    "keccak256",
    "level_term",
    "quote_digest",
    "quote_id_bytes",
    "quote_term",
    "recover_signer",
    "word",
]
