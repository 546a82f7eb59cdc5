"""API keys that people create themselves, by a sign-in."""

from __future__ import annotations

from .rest import Rest
from .sign_in import sign_nonce
from .signing import Account
from .wire import CreatedKey


async def request_api_key(
    url: str, account: Account, chain_id: str | int, *, domain: str | None = None
) -> CreatedKey:
    """Creates an API key of the self tier with a signature of an address (EIP-4361).

    An address has one such key: another replaces it. `domain` is that of `Client.sign_in`. Raises ApiError, such as
    403 where the service hands out no keys.
    """
    rest = Rest(url, "", chain_id)
    message, signature = await sign_nonce(
        rest.create_key_nonce, account, url=url.rstrip("/"), domain=domain, chain_id=str(chain_id)
    )
    return await rest.create_key(message, signature)
