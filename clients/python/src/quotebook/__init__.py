"""Client of a Quotebook service: signing of quotes, HTTP routes, and the numbered feed."""

from .api_key import request_api_key
from .books import Level, LevelBook, QuoteBook
from .client import Client
from .consent import (
    sign_fill_limit,
    sign_key_authorization,
    sign_key_revocation,
    sign_restore,
    sign_withdrawal,
)
from .errors import ApiError, ConnectionLostError, EventsLostError, QuotebookError, RefusedError
from .feed import (
    EventStream,
    Followed,
    FollowedBook,
    FollowedCover,
    FollowedEvents,
    FollowedQuotes,
    FollowedRfqs,
    FollowedTickers,
    FollowedTrades,
    Timeouts,
)
from .rest import Rest
from .sign_in import Session
from .signing import (
    Account,
    QuoteTerms,
    SignatureError,
    SignedQuote,
    domain_separator,
    quote_digest,
    recover_signer,
)
from .subscription import FollowState, ResyncCause
from .wire import ZERO_ADDRESS

__version__ = "0.1.0"

__all__ = [
    "ZERO_ADDRESS",
    "Account",
    "ApiError",
    "Client",
    "ConnectionLostError",
    "EventStream",
    "EventsLostError",
    "FollowState",
    "Followed",
    "FollowedBook",
    "FollowedCover",
    "FollowedEvents",
    "FollowedQuotes",
    "FollowedRfqs",
    "FollowedTickers",
    "FollowedTrades",
    "Level",
    "LevelBook",
    "QuoteBook",
    "QuoteTerms",
    "QuotebookError",
    "RefusedError",
    "Rest",
    "ResyncCause",
    "Session",
    "SignatureError",
    "SignedQuote",
    "Timeouts",
    "domain_separator",
    "quote_digest",
    "recover_signer",
    "request_api_key",
    "sign_fill_limit",
    "sign_key_authorization",
    "sign_key_revocation",
    "sign_restore",
    "sign_withdrawal",
]
