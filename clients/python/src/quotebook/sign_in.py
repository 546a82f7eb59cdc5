"""Sign-in with Ethereum (EIP-4361): proof that the holder of a key owns an address."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from urllib.parse import urlsplit

from .errors import QuotebookError
from .signing import Account, checksum_address


@dataclass(frozen=True)
class Session:
    """It stands for the API key and the address until it expires."""

    address: str
    token: str = field(repr=False)
    #: Unix seconds.
    expires_at: int


class Credentials:
    """The key that a client sends: the API key, or the token of a session in its place."""

    def __init__(self, api_key: str) -> None:
        # HTTP trims header values, the feed does not.
        self._api_key = api_key.strip()
        self.session: Session | None = None

    @property
    def current(self) -> str:
        return self._api_key if self.session is None else self.session.token

    def drop(self, refused: str) -> bool:
        """The server refused these. True: they were of a session, and the next request sends something else."""
        if self.session is not None and self.session.token == refused:
            self.session = None
        return refused != self.current


async def sign_nonce(
    ask_nonce: Callable[[], Awaitable[str]], account: Account, *, url: str, domain: str | None, chain_id: str
) -> tuple[str, str]:
    """Asks the service at `url` for a nonce; the message with it, and its signature."""
    service = urlsplit(url)
    meant = domain or service.netloc
    uri = f"{service.scheme}://{meant}" if meant == service.netloc else f"https://{meant}"
    message = _sign_in_message(
        domain=meant, uri=uri, address=account.address, chain_id=chain_id, nonce=await ask_nonce()
    )
    return message, account.sign_message(message)


def _sign_in_message(*, domain: str, uri: str, address: str, chain_id: str, nonce: str) -> str:
    """The text that the owner of the address signs."""
    # The server chooses the nonce: it must not bring other lines into what is signed.
    if re.fullmatch("[0-9A-Za-z]{8,200}", nonce) is None:
        raise QuotebookError("The server sent no nonce of EIP-4361")
    issued_at = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return "\n".join(
        (
            f"{domain} wants you to sign in with your Ethereum account:",
            checksum_address(address),
            "",
            f"URI: {uri}",
            "Version: 1",
            f"Chain ID: {chain_id}",
            f"Nonce: {nonce}",
            f"Issued At: {issued_at}",
        )
    )
