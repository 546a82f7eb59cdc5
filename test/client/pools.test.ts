import t from 'tap';
import { Pools, UnknownPoolError } from '../../src/client/pools.js';
import type { InstrumentJson } from '../../src/wire/options.js';
import type { TickerJson } from '../../src/wire/feed-messages.js';
import { ManualClock } from '../system/manual-clock.js';
import { quoteOf } from './trading/traded-quotes.js';

const { poolKey } = quoteOf();
const named: InstrumentJson = {
  instrument: 'WETH-USDC-29JAN27-2000-C',
  poolAddress: '0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  poolKey,
  expiry: poolKey.maturity,
  strike: '2000',
};
const other = '0xbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';

/** The routes that `Pools` asks, with how often it asks for the instruments. */
function service(instruments: InstrumentJson[]) {
  const ticker: TickerJson = {
    poolAddress: other,
    poolKey,
    bid: null,
    ask: null,
    filledSize24h: '0',
    volume24h: null,
    openInterest: null,
  };
  const asked = { instruments: 0 };
  const clock = new ManualClock();
  const routes = {
    instruments: async () => {
      asked.instruments += 1;
      return instruments;
    },
    tickers: async () => ({ epoch: '', seq: 0, tsMs: 0, tickers: [ticker] }),
  };
  return { asked, pools: new Pools(routes, clock), clock };
}

t.test('a pool is found by the name of its option, and asked for once', async (t) => {
  const { pools, asked } = service([named]);
  t.strictSame(await pools.byName(named.instrument), named);
  await pools.byName(named.instrument);
  t.equal(asked.instruments, 1);
});

t.test('a pool that came later is found, too', async (t) => {
  const instruments: InstrumentJson[] = [];
  const { pools } = service(instruments);
  await t.rejects(pools.byName(named.instrument), UnknownPoolError);
  instruments.push(named);
  t.strictSame(await pools.byName(named.instrument), named);
});

t.test('a pool that has expired meanwhile is not found', async (t) => {
  const instruments = [named];
  const { pools, clock } = service(instruments);
  await pools.byName(named.instrument);
  t.equal(await pools.byAddress(named.poolAddress), named);
  instruments.pop();
  clock.advance(named.expiry * 1_000 - clock.wallMs());
  await t.rejects(pools.byAddress(named.poolAddress), UnknownPoolError);
  await t.rejects(pools.byName(named.instrument), UnknownPoolError);
});

t.test('a pool without a name is found by its address, in any letter case', async (t) => {
  const { pools } = service([named]);
  t.strictSame(await pools.byAddress(`0x${'B'.repeat(40)}`), { poolAddress: other, poolKey });
  await t.rejects(pools.byAddress(`0x${'c'.repeat(40)}`), UnknownPoolError);
});
