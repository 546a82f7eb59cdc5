import t from 'tap';
import { limits } from '../../src/config/limits.js';
import { noncesOfKeys } from '../../src/protection/provider-consent.js';
import { quoteWithdrawals } from '../../src/protection/quote-withdrawals.js';
import { address, enter, quoteIdOf, sampleQuote, START } from '../engine/samples.js';
import { newCore } from './protection-fixture.js';

const ZERO = `0x${'0'.repeat(64)}` as const;

t.test('withdrawals with one key keep so many nonces, whatever providers sign', async (t) => {
  const { engine, journal, sequencer } = newCore();
  const bounds = { ...limits, noncesPerKey: 2 };
  let signer = address(1);
  const withdrawals = quoteWithdrawals({
    ...{ engine, sequencer, chainId: 421_613, nowSeconds: () => START },
    ...{ limits: bounds, nonces: noncesOfKeys(bounds), signatures: { signer: () => signer } },
  });
  const ask = async (act: 'withdraw' | 'restore', n: number, nonce: bigint, askedBy: string) => {
    signer = address(n);
    const consent = { nonce, deadline: START + 60, signature: { r: ZERO, s: ZERO, v: 27 } };
    const asked = withdrawals[act]({ provider: signer, askedBy, quoteIds: [quoteIdOf(n)], consent });
    await journal.flush();
    return asked;
  };
  for (const n of [1, 2, 3]) sequencer.submit(enter(sampleQuote({ n, provider: address(n) })));
  t.match(await ask('withdraw', 1, 1n, 'key'), { type: 'DONE', changed: [quoteIdOf(1)] });
  t.match(await ask('restore', 1, 2n, 'key'), { type: 'DONE', changed: [quoteIdOf(1)] });
  t.strictSame(await ask('withdraw', 2, 1n, 'key'), { type: 'TOO_MANY_NONCES', retryAfterMs: 61_000 });
  t.match(await ask('withdraw', 3, 1n, 'another'), { type: 'DONE', changed: [quoteIdOf(3)] });
});
