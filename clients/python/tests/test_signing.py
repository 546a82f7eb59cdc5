"""Digests and signatures against the golden vectors that the TypeScript client and the server use."""

from __future__ import annotations

import json
from typing import Any

import pytest

from quotebook import Account, QuoteTerms, SignatureError, domain_separator, quote_digest, recover_signer
from quotebook.signing import keccak256

from .conftest import VECTORS

GOLDEN: list[dict[str, Any]] = json.loads((VECTORS / "signed-quotes.json").read_text())
#: anvil's second account.
KEY = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
ADDRESS = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
POOL_KEY: Any = {
    "base": "0x5c4A427Fbc88c761db3887d88606D97D32e95c3B",
    "quote": "0x06E54Aa21496Ed0099219ea79a2c72247F36091A",
    "oracleAdapter": "0xCABEe62adFB2a4d4172Fc2F7536f324FC52C274a",
    "strike": "1600000000000000000000",
    "maturity": 1795766400,
    "isCallPool": True,
}
HALF_OF_ORDER = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0


def terms_of(quote: dict[str, Any]) -> QuoteTerms:
    return QuoteTerms(
        side="bid" if quote["isBuy"] else "ask",
        price=int(quote["price"]),
        size=int(quote["size"]),
        deadline=quote["deadline"],
        salt=quote["salt"],
        taker=quote["taker"],
    )


@pytest.mark.parametrize("golden", GOLDEN, ids=[each["quoteId"][:10] for each in GOLDEN])
def test_golden_vector(golden: dict[str, Any]) -> None:
    domain = domain_separator(golden["chainId"], golden["poolAddress"])
    assert f"0x{domain.hex()}" == golden["domainSeparator"]
    digest = quote_digest(domain, golden["quote"]["provider"], terms_of(golden["quote"]))
    assert f"0x{digest.hex()}" == golden["quoteId"]
    try:
        is_valid = recover_signer(digest, golden["signature"]) == golden["quote"]["provider"]
    except SignatureError:
        is_valid = False
    assert is_valid is golden["valid"], golden.get("why")


def test_there_are_good_and_bad_vectors() -> None:
    assert sum(each["valid"] for each in GOLDEN) >= 20
    assert len(GOLDEN) - sum(each["valid"] for each in GOLDEN) >= 4


def test_signatures_have_a_low_s_and_v_of_27_or_28() -> None:
    account, seen = Account(KEY), set()
    for number in range(40):
        digest = keccak256(bytes([number]))
        signature = account.sign_digest(digest)
        assert recover_signer(digest, signature) == account.address == ADDRESS
        assert int(signature["s"], 16) <= HALF_OF_ORDER
        assert signature == account.sign_digest(digest), "deterministic"
        seen.add(signature["v"])
    assert seen == {27, 28}


def test_a_signature_equals_the_one_of_the_typescript_client() -> None:
    # signQuote of quotebook/client with the same account, pool and terms.
    terms = QuoteTerms(side="ask", price=5 * 10**16, size=10**18, deadline=1795239812, salt=1795236212)
    signed = Account(KEY).sign_quote(421613, "0xc2e90a6aafcead4bd2d87419f9d74c79ce8d8aaa", POOL_KEY, terms)
    assert signed.quote_id == "0x9c38c5c44e5ae9b79df88640f4aea70b0209f82f0ea27d171104dcfcc7caff50"
    assert signed.posted["signature"] == {
        "r": "0xb129d88abbafa671469df92781827156ca2daad773cfe0c3c5cee2fd4a5b93ec",
        "s": "0x64d559cfff6bb4f2c566e72d30a55902a5fa1488af6e6648e93313be6082866f",
        "v": 27,
    }
    assert signed.posted["chainId"] == "421613"
    assert signed.posted["isBuy"] is False


def test_no_text_of_an_account_has_its_key() -> None:
    assert repr(Account(KEY)) == f"Account(address='{ADDRESS}')"
    with pytest.raises(ValueError, match="64 hexadecimal digits") as caught:
        Account(KEY[:-2])
    assert KEY[2:20] not in str(caught.value)


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"side": "buy"}, ValueError),
        ({"price": 0.05}, TypeError),
        ({"size": "1"}, TypeError),
        ({"size": True}, TypeError),
        ({"size": -1}, ValueError),
        ({"price": 2**256}, ValueError),
        ({"salt": 2**53}, ValueError),
    ],
)
def test_terms_that_the_wire_has_no_form_for(changed: dict[str, Any], error: type[Exception]) -> None:
    good = {"side": "ask", "price": 1, "size": 1, "deadline": 1, "salt": 1}
    with pytest.raises(error):
        QuoteTerms(**{**good, **changed})
