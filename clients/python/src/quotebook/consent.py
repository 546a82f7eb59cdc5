"""Messages that providers sign besides quotes (EIP-712): withdrawals, and rights of API keys.

The service carries out such a message once. Each has a nonce that its signer has not used lately, and a deadline.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from typing import cast

from .signing import Account, address_word, keccak256, quote_id_bytes, word
from .wire import Authorization, FillLimit, Revocation, Withdrawal

_DOMAIN_TYPE = keccak256(b"EIP712Domain(string name,string version,uint256 chainId)")
_NAME_AND_VERSION = keccak256(b"Quotebook") + keccak256(b"1")
_TERMS = "uint256 nonce,uint256 deadline"
#: The service takes deadlines at most an hour ahead, but for authorisations.
_USUAL_SECONDS = 600
_NONCE_BITS = 128


def sign_withdrawal(
    account: Account,
    chain_id: str | int,
    quote_ids: Sequence[str],
    *,
    nonce: int | None = None,
    deadline: int | None = None,
) -> Withdrawal:
    """The body that `rest.withdraw_quotes` sends, for 1 to 500 quotes of the account."""
    return _sign_quotes("WithdrawQuotes", account, chain_id, quote_ids, nonce, deadline)


def sign_restore(
    account: Account,
    chain_id: str | int,
    quote_ids: Sequence[str],
    *,
    nonce: int | None = None,
    deadline: int | None = None,
) -> Withdrawal:
    """The body that `rest.restore_quotes` sends."""
    return _sign_quotes("RestoreQuotes", account, chain_id, quote_ids, nonce, deadline)


def sign_key_authorization(
    account: Account, chain_id: str | int, key_id: str, *, until: int, nonce: int | None = None
) -> Authorization:
    """The body that `rest.authorize_key` sends. `until`: Unix seconds, at most 90 days ahead."""
    return _sign_key("AuthorizeKey", account, chain_id, key_id, nonce, until)


def sign_key_revocation(
    account: Account, chain_id: str | int, key_id: str, *, nonce: int | None = None, deadline: int | None = None
) -> Revocation:
    """The body that `rest.revoke_key` sends. The client that sends it may have another key than the one revoked."""
    signed = cast(Revocation, _sign_key("RevokeKey", account, chain_id, key_id, nonce, deadline))
    signed["keyId"] = key_id
    return signed


def sign_fill_limit(
    account: Account,
    chain_id: str | int,
    pool_address: str,
    *,
    contracts: int,
    fills: int,
    window_seconds: int,
    nonce: int | None = None,
    deadline: int | None = None,
) -> FillLimit:
    """The body that `rest.set_fill_limit` sends. `contracts` is in 1e-18; 0 sets no bound, both 0 end the limit."""
    nonce, deadline = _terms(nonce, deadline)
    if contracts == 0 and fills == 0:
        # The end of a limit has no window, and the service reads the signature so.
        window_seconds = 0
    fields = address_word(pool_address) + word(contracts) + word(fills) + word(window_seconds)
    kinds = "address poolAddress,uint256 contracts,uint256 fills,uint256 windowSeconds"
    digest = _digest("SetFillLimit", chain_id, kinds, account.address, fields, nonce, deadline)
    return {
        "chainId": str(chain_id),
        "provider": account.address,
        "poolAddress": pool_address,
        "contracts": str(contracts),
        "fills": fills,
        "windowSeconds": window_seconds,
        "nonce": str(nonce),
        "deadline": deadline,
        "signature": account.sign_digest(digest),
    }


def _sign_quotes(
    kind: str,
    account: Account,
    chain_id: str | int,
    quote_ids: Sequence[str],
    nonce: int | None,
    deadline: int | None,
) -> Withdrawal:
    nonce, deadline = _terms(nonce, deadline)
    fields = keccak256(b"".join(quote_id_bytes(quote_id) for quote_id in quote_ids))
    digest = _digest(kind, chain_id, "bytes32[] quoteIds", account.address, fields, nonce, deadline)
    return {
        "chainId": str(chain_id),
        "provider": account.address,
        "quoteIds": list(quote_ids),
        "nonce": str(nonce),
        "deadline": deadline,
        "signature": account.sign_digest(digest),
    }


def _sign_key(
    kind: str, account: Account, chain_id: str | int, key_id: str, nonce: int | None, deadline: int | None
) -> Authorization:
    nonce, deadline = _terms(nonce, deadline)
    fields = keccak256(key_id.encode())
    digest = _digest(kind, chain_id, "string keyId", account.address, fields, nonce, deadline)
    return {
        "chainId": str(chain_id),
        "provider": account.address,
        "nonce": str(nonce),
        "deadline": deadline,
        "signature": account.sign_digest(digest),
    }


def _terms(nonce: int | None, deadline: int | None) -> tuple[int, int]:
    return (
        secrets.randbits(_NONCE_BITS) if nonce is None else nonce,
        int(time.time()) + _USUAL_SECONDS if deadline is None else deadline,
    )


def _digest(
    kind: str, chain_id: str | int, kinds: str, provider: str, fields: bytes, nonce: int, deadline: int
) -> bytes:
    type_hash = keccak256(f"{kind}(address provider,{kinds},{_TERMS})".encode())
    struct = keccak256(type_hash + address_word(provider) + fields + word(nonce) + word(deadline))
    domain = keccak256(_DOMAIN_TYPE + _NAME_AND_VERSION + word(int(chain_id)))
    return keccak256(b"\x19\x01" + domain + struct)


__all__ = [
    "sign_fill_limit",
    "sign_key_authorization",
    "sign_key_revocation",
    "sign_restore",
    "sign_withdrawal",
]
