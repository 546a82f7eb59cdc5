import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { hashTypedData } from 'viem';
import { MOST_SIGNED_IDS, ProviderDigest } from '../../src/auth/provider-signature.js';
import { limits } from '../../src/config/limits.js';
import type { Hex } from '../../src/engine/quote.js';
import type { WithdrawalJson } from '../../src/wire/withdrawals.js';

const CHAIN_ID = 421_613;
const FIELDS = [
  { name: 'provider', type: 'address' },
  { name: 'quoteIds', type: 'bytes32[]' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint256' },
] as const;
const types = { WithdrawQuotes: FIELDS, RestoreQuotes: FIELDS };
const digests = new ProviderDigest(CHAIN_ID);
const hex = (bytes: number): fc.Arbitrary<Hex> =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((value): Hex => `0x${Buffer.from(value).toString('hex')}`);

t.test('golden vector: the digest that docs/reference/api.md shows', async (t) => {
  const page = readFileSync(new URL('../../../docs/reference/api.md', import.meta.url), 'utf8');
  const [, request = ''] = /^```json DELETE \/quotes request\n(.*?)^```$/ms.exec(page) ?? [];
  const { provider, quoteIds, nonce, deadline } = JSON.parse(request) as Required<WithdrawalJson>;
  const digest = digests.of('WithdrawQuotes', { provider, quoteIds, nonce: BigInt(nonce), deadline });
  t.equal(digest, '0xb149c01a75550b616075180d40fb532c3f04cd4a70c8abc990d01f64a4d715fa');
  t.ok(page.includes(`\`${digest}\``));
});

t.test('any message has the digest that wallets sign', async (t) => {
  const message = fc.record({
    provider: hex(20),
    quoteIds: fc.array(hex(32), { minLength: 1, maxLength: 20 }),
    nonce: fc.bigInt(0n, 2n ** 256n - 1n),
    deadline: fc.maxSafeNat(),
  });
  const primaryType = fc.constantFrom('WithdrawQuotes' as const, 'RestoreQuotes' as const);
  fc.assert(
    fc.property(primaryType, message, (type, signed) => {
      const domain = { name: 'Quotebook', version: '1', chainId: CHAIN_ID };
      const typed = { ...signed, deadline: BigInt(signed.deadline) };
      const wanted = hashTypedData({ domain, types, primaryType: type, message: typed });
      if (digests.of(type, signed) !== wanted) throw new Error(`${type} has another digest`);
    }),
    { numRuns: 50 },
  );
  t.pass('as viem has it');
});

t.test('as many ids as one request may have are hashed', async (t) => {
  t.ok(limits.withdrawalsPerRequest <= MOST_SIGNED_IDS);
  const quoteIds = Array.from({ length: limits.withdrawalsPerRequest }, (): Hex => `0x${'ab'.repeat(32)}`);
  const provider: Hex = `0x${'12'.repeat(20)}`;
  const signed = { provider, quoteIds, nonce: 1n, deadline: 1 };
  t.match(digests.of('RestoreQuotes', signed), /^0x[0-9a-f]{64}$/);
});
