import t from 'tap';
import type { CallResult, ContractCall } from '../../src/chain/contracts/abi-encoding.js';
import type { TokenProfile } from '../../src/chain/contracts/deployments.js';
import type { TxOutcome } from '../../src/chain/wallet/operator.js';
import type { TxRequest } from '../../src/chain/wallet/transaction.js';
import { type Hex, type Order, ZERO_ADDRESS } from '../../src/engine/quote.js';
import { TokenCaps } from '../../src/quota/token-caps.js';
import { OrderTrading } from '../../src/trading/order-trading.js';
import { Turns } from '../../src/trading/turns.js';
import { MINED, patientOperator, settled } from '../chain/options/patient-operator.js';
import { recordingGasAccount } from '../chain/recording-gas-account.js';
import { quoteIdOf, samplePool, sampleQuote } from '../engine/samples.js';
import { ManualClock } from '../system/manual-clock.js';

const ONE = 10n ** 18n;
const token: TokenProfile = { symbol: 'WETH', address: samplePool(1).poolKey.base, decimals: 18 };

/** Asks of one contract for a tenth: two in each of two pools. The wallet may spend `cap` of the token in a day. */
function opened(cap: bigint, send: (request: TxRequest) => Promise<TxOutcome>) {
  const clock = new ManualClock();
  const orders = new Map<Hex, Order>();
  for (const [n, poolNumber] of [1, 1, 2, 2].entries()) {
    const quote = sampleQuote({ n, pool: samplePool(poolNumber), price: ONE / 10n, size: ONE });
    orders.set(quote.quoteId, { quote, fillableSize: ONE, state: 'live' } as Order);
  }
  const word = (value: bigint): CallResult => ({ reverted: false, data: `0x${value.toString(16).padStart(64, '0')}` });
  const caps = new TokenCaps({
    perDay: new Map([[token.symbol, cap]]),
    nowMs: () => clock.monotonicMs(),
    kept: null,
  });
  const trading = new OrderTrading({
    operator: patientOperator(clock, send),
    // Balance and allowance come first; there are no positions, and no fees.
    reader: { multicall: async (calls: readonly ContractCall[]) => calls.map((_, i) => word(i < 2 ? 100n * ONE : 0n)) },
    orders: { get: (quoteId) => orders.get(quoteId) },
    series: { describe: () => ({}) as never, tokenAt: () => token },
    router: ZERO_ADDRESS,
    referrer: ZERO_ADDRESS,
    caps,
    turns: new Turns(10),
    inFlight: 2,
  });
  const fill = (...quotes: number[]) =>
    trading.fill(
      quotes.map((n) => ({ quoteId: quoteIdOf(n), size: ONE })),
      recordingGasAccount(),
    );
  /** What is left of the cap. */
  const isLeft = (units: bigint): boolean =>
    caps.take(token.symbol, units) === null && caps.take(token.symbol, 1n) !== null;
  return { fill, isLeft };
}

t.test('a fill that throws leaves the cap as it was, with all that were to follow it', async (t) => {
  const { fill, isLeft } = opened(ONE, () => {
    throw new Error('a fault of ours');
  });
  for (let i = 0; i < 5; i++) await t.rejects(fill(0, 1, 2, 3), { message: 'a fault of ours' });
  t.ok(isLeft(ONE));
});

t.test('a fill under way while another throws counts to the cap, and those that follow it are not sent', async (t) => {
  let end: (outcome: TxOutcome) => void = () => undefined;
  let sent = 0;
  const { fill, isLeft } = opened(ONE, ({ to }) => {
    sent += 1;
    if (to === samplePool(2).poolAddress) throw new Error('a fault of ours');
    return new Promise((resolve) => (end = resolve));
  });
  await t.rejects(fill(0, 1, 2, 3), { message: 'a fault of ours' });
  end(MINED);
  await settled();
  t.equal(sent, 2);
  t.ok(isLeft(ONE - ONE / 10n));
});
