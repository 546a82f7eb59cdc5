import t from 'tap';
import type { Hex } from '../../src/engine/quote.js';
import { formatExpiration } from '../../src/wire/expiration.js';
import type { TickerJson } from '../../src/wire/feed-messages.js';
import { Market } from '../chain/dev/market.js';
import { DevActions } from '../chain/dev-actions.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import { ONE, type QuoteTerms, signQuote, type WireQuote } from './maker.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';
import { SocketClient } from './socket-client.js';
import { optionOf } from './wire-option.js';
import { untilAnswer } from '../until.js';

const running = await startTestService({ limits: { openInterestMaxAgeMs: 300, openInterestLookMs: 50 } });
t.teardown(() => running.stop());
const { chain, httpUrl, wsUrl, apiKey } = running;
const rest = new RestClient(httpUrl, apiKey);
const [pool] = chain.pools;
const [, maker, taker] = chain.accounts;
if (!pool || !maker || !taker) throw new Error('The local chain lacks pools or accounts');
const { poolAddress, poolKey } = pool;
const [makerKey, takerAddress] = [maker.privateKey, taker.address];
const dev = new DevActions(chain);

async function tickers(): Promise<readonly TickerJson[]> {
  const answer = await rest.get('/tickers?chainId=421613');
  return answer.body.tickers as TickerJson[];
}

async function tickerOf(address: string): Promise<TickerJson | undefined> {
  return (await tickers()).find((ticker) => ticker.poolAddress === address);
}

const orders = `/orders?chainId=421613&poolAddress=${poolAddress}&taker=${takerAddress}`;

/** The quote as the chain takes it. */
function offerOf({ provider, taker: forWhom, price, size, signature, isBuy, deadline, salt }: WireQuote): SignedOffer {
  const [r, s] = [signature.r as Hex, signature.s as Hex];
  return {
    pool: { poolAddress, poolKey },
    provider: provider as Hex,
    taker: forWhom as Hex,
    price: BigInt(price),
    size: BigInt(size),
    isBuy,
    deadline,
    salt,
    signature: { r, s, v: signature.v },
    quoteId: r,
  };
}

async function post(terms: QuoteTerms) {
  const quote = await signQuote(makerKey, pool ?? { poolAddress, poolKey }, terms);
  const answer = await rest.post('/quotes', [quote]);
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return quote;
}

await t.test('a pool at a glance: best prices with all that is public at them, and what was filled', async (t) => {
  t.strictSame(
    (await tickers()).map((ticker) => ticker.poolAddress).sort(),
    chain.pools.map((each) => each.poolAddress).sort(),
    'every pool that is deployed',
  );
  const socket = await SocketClient.open(wsUrl, 'quotebook.v2.json');
  t.teardown(() => socket.end());
  await socket.auth(apiKey);
  const body = { chainId: '421613', poolAddress };
  t.match(await socket.ask({ type: 'FILTER', channel: 'TICKER', body }), { type: 'INFO', body: { channel: 'TICKER' } });
  t.match(await socket.next(), { type: 'TICKER_SNAPSHOT', more: false, body: [{ bid: null, ask: null }] });

  const price = ONE / 20n;
  const best = await post({ price, size: 2n * ONE });
  await post({ price, size: 3n * ONE });
  await post({ price: price + 1n, size: ONE });
  await post({ price: price - 1n, size: ONE, taker: takerAddress });
  await post({ price: ONE / 100n, size: ONE, isBuy: true });
  const glance = {
    poolAddress,
    poolKey: { ...poolKey, strike: poolKey.strike.toString() },
    bid: { price: String(ONE / 100n), size: String(ONE) },
    ask: { price: String(price), size: String(5n * ONE) },
    filledSize24h: '0',
    volume24h: '0',
    openInterest: '0',
  };
  const isFollowed = (ticker: TickerJson | undefined): boolean => ticker?.openInterest !== null;
  t.strictSame(await untilAnswer(() => tickerOf(poolAddress), isFollowed), glance);

  await dev.fill(takerAddress, offerOf(best), ONE);
  const filled = {
    ...glance,
    ask: { price: String(price), size: String(4n * ONE) },
    filledSize24h: String(ONE),
    volume24h: String(ONE),
    openInterest: String(ONE),
  };
  let told: Record<string, unknown> = {};
  while ((told.body as TickerJson | undefined)?.openInterest !== String(ONE)) {
    told = await socket.next();
    if (told.type !== 'HEARTBEAT') t.match(told, { type: 'TICKER', body: { poolAddress } });
  }
  t.strictSame(told.body, filled);
  t.strictSame(await tickerOf(poolAddress), filled);
});

await t.test('open interest that no event tells of is pushed, and is not known once nobody follows', async (t) => {
  const market = new Market(chain);
  const { operator } = market;
  const bought = market.pool('testWETH', 1800n, false);
  const vault = chain.profile.vaults.find(({ name }) => name === 'pSV-testWETH/USDC-P');
  if (vault === undefined) throw new Error('the local chain has no vault of puts');
  const socket = await SocketClient.open(wsUrl, 'quotebook.v2.json');
  await socket.auth(apiKey);
  const filter = { chainId: '421613', poolAddress: bought.poolAddress };
  await socket.ask({ type: 'FILTER', channel: 'TICKER', body: filter });
  /** What is pushed, once it is that. */
  const pushed = async (openInterest: bigint): Promise<TickerJson> => {
    for (;;) {
      const { type, body } = await socket.next();
      const ticker = type === 'TICKER' ? (body as TickerJson) : null;
      if (ticker?.openInterest === String(openInterest)) return ticker;
    }
  };
  await pushed(0n);
  await market.approve(operator.address, market.token('USDC'), vault.address);
  const buy = { ...optionOf(chain, bought), size: 2, direction: 'buy', premiumLimit: 1000 };
  t.equal((await rest.post('/vaults/trade', buy)).status, 200);
  const { volume24h } = await pushed(2n * ONE);
  t.equal(volume24h, '0', 'it is no trade of the order book');
  t.equal((await tickerOf(poolAddress))?.openInterest, null, 'nobody follows this one');
  socket.end();
  const isUnknown = (ticker: TickerJson | undefined): boolean => ticker?.openInterest === null;
  await untilAnswer(() => tickerOf(bought.poolAddress), isUnknown);
});

await t.test('a ticker has a name and an estimate where the client asks for them', async (t) => {
  const plain = await rest.get('/tickers?chainId=421613');
  const { body } = await rest.get('/tickers?chainId=421613&fields=valuation');
  const found = (body.tickers as (TickerJson & Record<'instrument' | 'openInterest' | 'valuation', unknown>)[]).find(
    (ticker) => ticker.poolAddress === poolAddress,
  );
  const [strike, type] = [poolKey.strike / ONE, poolKey.isCallPool ? 'C' : 'P'];
  t.equal(found?.instrument, `testWETH-USDC-${formatExpiration(poolKey.maturity)}-${strike}-${type}`);
  t.equal(found?.openInterest, String(ONE), 'what was filled above is held');
  const valuation = found?.valuation as Record<string, string | number | null>;
  t.equal(valuation.spot, String(1800n * ONE));
  const { bid, ask } = found ?? {};
  t.equal(valuation.spread, bid && ask ? String(BigInt(ask.price) - BigInt(bid.price)) : null);
  t.equal(valuation.bidVolatility === null && valuation.askVolatility === null, valuation.delta === null);
  t.same((await rest.get('/tickers?chainId=421613')).body, plain.body, 'others see no difference');
});

await t.test('orders come in pages, newest first, and nothing is left out or told twice', async (t) => {
  const ids = (answer: { readonly body: Readonly<Record<string, unknown>> }) =>
    (answer.body.validQuotes as { quoteId: string }[]).map(({ quoteId }) => quoteId);
  const all = await rest.get(orders);
  t.strictSame(Object.keys(all.body), ['validQuotes', 'invalidQuotes'], 'without a limit the answer is as ever');
  t.equal(ids(all).length, 5);
  const paged: string[] = [];
  for (let from: string | null = ''; from !== null;) {
    const answer = await rest.get(`${orders}&limit=2${from}`);
    paged.push(...ids(answer));
    const cursor = answer.body.nextCursor as string | null;
    from = cursor === null ? null : `&cursor=${cursor}`;
  }
  t.strictSame(paged, ids(all));
  for (const wrong of ['limit=0', 'limit=1001', 'limit=x', 'cursor=', 'cursor=1', 'cursor=1-1-1']) {
    t.equal((await rest.get(`${orders}&${wrong}`)).status, 400, wrong);
  }
  t.equal((await rest.get('/tickers')).status, 400);
  t.equal((await rest.get('/tickers?chainId=42161')).status, 400);
});

await t.test('quotes of the feed have the name of their option, those of plain answers have not', async (t) => {
  const quote = await post({ isBuy: false, price: ONE / 10n, size: ONE });
  const { body } = await rest.get(`/events?channel=QUOTES&fromSeq=0&poolAddress=${poolAddress}`);
  const messages = body.messages as readonly { type: string; body: { salt: number; instrument?: string } }[];
  const posted = messages.find((message) => message.type === 'POST_QUOTE' && message.body.salt === quote.salt);
  t.match(posted?.body.instrument, /^testWETH-USDC-/);
  t.notMatch(JSON.stringify((await rest.get(orders)).body), 'instrument');
});
