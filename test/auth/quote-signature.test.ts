import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t, { type Test } from 'tap';
import { hashTypedData, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { toHex } from '../../src/auth/keccak256.js';
import { type DigestInput, QuoteDigest, QuoteSignature } from '../../src/auth/quote-signature.js';
import { loadNative, loadWasm, type Secp256k1 } from '../../src/auth/secp256k1.js';
import { type Signature, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { address } from '../engine/samples.js';
import { QUOTE_TYPES } from './quote-types.js';

interface Vector {
  chainId: string;
  poolAddress: Hex;
  domainSeparator: Hex;
  quote: { provider: Hex; taker: Hex; price: string; size: string; isBuy: boolean; deadline: number; salt: number };
  quoteId: Hex;
  signature: { r: Hex; s: Hex; v: number };
  valid: boolean;
  why?: string;
}

const vectors = JSON.parse(
  readFileSync(new URL('../../../test/vectors/signed-quotes.json', import.meta.url), 'utf8'),
) as Vector[];

function validVector(): Vector {
  const vector = vectors.find(({ valid }) => valid);
  if (vector === undefined) throw new Error('one of them is valid');
  return vector;
}

const UNUSED_KEY = { base: '0x', quote: '0x', oracleAdapter: '0x', strike: 0n, maturity: 0, isCallPool: true } as const;

function toQuote(vector: Vector): DigestInput {
  return {
    ...vector.quote,
    price: BigInt(vector.quote.price),
    size: BigInt(vector.quote.size),
    pool: { poolAddress: vector.poolAddress, poolKey: UNUSED_KEY },
  };
}

async function checkVectors(t: Test, secp256k1: Secp256k1): Promise<void> {
  for (const vector of vectors) {
    const digests = new QuoteDigest(Number(vector.chainId), 10);
    const signatures = new QuoteSignature(digests, secp256k1);
    const quote = toQuote(vector);
    t.equal(toHex(digests.domainSeparator(vector.poolAddress)), vector.domainSeparator, 'domain separator');
    t.equal(signatures.quoteId(quote), vector.quoteId, 'quote id');
    t.equal(toHex(digests.digest(quote)), vector.quoteId, 'quote id as bytes');
    t.equal(
      signatures.verify({ quoteId: vector.quoteId, provider: quote.provider, signature: vector.signature }),
      vector.valid,
      vector.why ?? 'valid',
    );
  }
}

t.test('the native library agrees with every vector', async (t) => {
  const native = loadNative();
  if (native === null) throw new Error('the native binding did not load here');
  await checkVectors(t, native);
});

t.test('the WASM library agrees with every vector', async (t) => checkVectors(t, await loadWasm()));

const addressOfQuoteSignature = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes): Hex => toHex(bytes));
/** Few, so that quotes share them with those before, as a maker's do. */
const fewAddresses = fc.constantFrom(ZERO_ADDRESS, `0x${'11'.repeat(20)}`, `0x${'22'.repeat(20)}`);
const someAddress = fc.oneof(addressOfQuoteSignature, fewAddresses);
const uint256 = fc.bigInt({ min: 0n, max: 2n ** 256n - 1n });
const safeInteger = fc.nat({ max: Number.MAX_SAFE_INTEGER });

t.test('a digest is what viem makes of the same typed data', (t) => {
  const digests = new QuoteDigest(421613, 2);
  fc.assert(
    fc.property(
      fc.tuple(someAddress, someAddress, someAddress, uint256, uint256, fc.boolean(), safeInteger, safeInteger),
      ([poolAddress, provider, taker, price, size, isBuy, deadline, salt]) => {
        const quote = { provider, taker, price, size, isBuy, deadline, salt };
        const ours = digests.quoteId({ ...quote, pool: { poolAddress, poolKey: UNUSED_KEY } });
        const theirs = hashTypedData({
          domain: { name: 'Premia', version: '1', chainId: 421613, verifyingContract: poolAddress },
          types: QUOTE_TYPES,
          primaryType: 'FillQuoteOB',
          message: { ...quote, deadline: BigInt(deadline), salt: BigInt(salt) },
        });
        return ours === theirs;
      },
    ),
  );
  t.pass('over random quotes');
  t.end();
});

t.test('a signer is found in whatever letter case the signature came', async (t) => {
  const account = privateKeyToAccount(`0x${'1f'.repeat(32)}`);
  const signatures = new QuoteSignature(new QuoteDigest(421613, 10), await loadWasm());
  const quoteId: Hex = `0x${'ab'.repeat(32)}`;
  const signed = await account.sign({ hash: quoteId });
  const signature: Signature = {
    r: `0x${signed.slice(2, 66).toUpperCase()}`,
    s: `0x${signed.slice(66, 130).toUpperCase()}`,
    v: parseInt(signed.slice(130), 16),
  };
  t.equal(signatures.signer(quoteId, signature), account.address.toLowerCase());
});

t.test('s may be half of the order, and no more (EIP-2)', async (t) => {
  const signatures = new QuoteSignature(new QuoteDigest(421613, 10), await loadWasm());
  const { quoteId, signature } = validVector();
  const half = 0x7fffffffffffffffffffffffffffffff5d576e7357a4501ddfe92f46681b20a0n;
  const withS = (s: bigint): Signature => ({ ...signature, s: `0x${s.toString(16)}` });
  t.type(signatures.signer(quoteId, withS(half)), 'string');
  t.equal(signatures.signer(quoteId, withS(half + 1n)), null);
});

t.test('a signature is nobody else’s, by whichever byte the address differs', async (t) => {
  const signatures = new QuoteSignature(new QuoteDigest(421613, 10), await loadWasm());
  const { quoteId, signature, quote } = validVector();
  const provider = Buffer.from(quote.provider.slice(2), 'hex');
  for (const place of provider.keys()) {
    const other = Buffer.from(provider);
    other[place] = (other[place] ?? 0) ^ 1;
    t.notOk(signatures.verify({ quoteId, provider: toHex(other), signature }), `byte ${place}`);
  }
  t.ok(signatures.verify({ quoteId, provider: toHex(provider), signature }));
});

t.test('the separators of the pools used last are kept', async (t) => {
  const digests = new QuoteDigest(421613, 2);
  const first = digests.domainSeparator(address(1));
  digests.domainSeparator(address(2));
  t.equal(digests.domainSeparator(address(1)), first, 'it is not computed again');
  for (const last of [3, 4, 5, 6]) digests.domainSeparator(address(last));
  const again = digests.domainSeparator(address(1));
  t.not(again, first);
  t.strictSame(again, first);
});
