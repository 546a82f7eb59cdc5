import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import t from 'tap';
import { OptionSeries } from '../../src/chain/options/option-series.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import type { PastTickersResult } from '../../src/wire/feed-messages.js';
import { Market, ONE } from '../chain/dev/market.js';
import { RestClient } from './rest-client.js';
import { startTestService } from './running-service.js';

/** Answers as of the past, from the log's files on the disk. */
const chain = await startLocalChain();
t.teardown(() => chain.stop());
const running = await startTestService({ chain, walletKey: null, keepsLog: true, limits: { lowerHeadMs: 100 } });
t.teardown(() => running.stop());
const market = new Market(chain);
const { taker, stranger } = market;
const call = market.pool('testWETH', 1800n, true);
const rest = new RestClient(running.httpUrl, running.apiKey);
const about = `chainId=421613&poolAddress=${call.poolAddress}`;
const instrument = new OptionSeries(chain.profile).instrument(call) ?? '';
const paths = [
  `/orders?${about}`,
  `/quotes?${about}&side=ask&size=${ONE * 5n}`,
  `/quotes?${about}&side=ask&size=${ONE * 5n}&taker=${taker.address}`,
  `/orders?${about}&taker=${taker.address}&limit=2&fields=instrument`,
  `/book/${call.poolAddress}?chainId=421613`,
  `/book/${instrument}?chainId=421613&depth=1`,
  '/tickers?chainId=421613',
];

/** `tsMs` is of the last event in the present, and of the last record in the past. Tickers have no certain order. */
function timeless(body: unknown): unknown {
  const { tsMs, tickers, ...rest } = body as { tsMs?: number; tickers?: { poolAddress: string }[] };
  if (tsMs === undefined) return body;
  const sorted = tickers?.sort((a, b) => (a.poolAddress < b.poolAddress ? -1 : 1));
  return sorted === undefined ? rest : { ...rest, tickers: sorted };
}

async function answers(more = '', asked = paths): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const path of asked) {
    const { status, body } = await rest.get(`${path}${more}`);
    t.equal(status, 200, `${path}${more}`);
    found.push(timeless(body));
  }
  return found;
}

interface Moment {
  readonly seq: number;
  readonly tsMs: number;
  readonly block: number;
  readonly answers: unknown[];
}

async function ticker(): Promise<{ seq: number; tsMs: number }> {
  return (await rest.get(`/tickers?chainId=421613`)).body as unknown as { seq: number; tsMs: number };
}

/** What is answered once the service has read the step's event. */
async function after(step: () => Promise<unknown>): Promise<Moment> {
  const { seq: before } = await ticker();
  await step();
  const block = Number(await market.client.getBlockNumber());
  for (;;) {
    const { seq, tsMs } = await ticker();
    const found = await answers();
    // The answers are of one state: nothing happened between two looks.
    if (seq > before && seq === (await ticker()).seq) return { seq, tsMs, block, answers: found };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const moments: Moment[] = [];

await t.test('answers as of an event, a block and a time are those that were given then', async (t) => {
  const one = await market.sign(call);
  const two = await market.sign(call, { price: ONE / 20n, taker: taker.address });
  const three = await market.sign(call, { price: ONE / 30n });
  moments.push(await after(() => market.publish(stranger.address, [one])));
  moments.push(await after(() => market.publish(stranger.address, [two])));
  moments.push(await after(() => market.publish(stranger.address, [three])));
  moments.push(await after(() => market.fill(taker.address, one, ONE / 4n)));
  for (const { seq, answers: wanted } of moments) {
    t.strictSame(await answers(`&asOfSeq=${seq}`), wanted, `event ${seq}`);
  }
  const last = moments.at(-1);
  t.strictSame(await answers(`&asOfBlock=${last?.block}`), last?.answers);
  const headers = (await rest.get(`${paths[0]}&asOfSeq=${moments[1]?.seq}`)).headers;
  t.match(headers.get('x-quotebook-as-of'), new RegExp(`^seq=${moments[1]?.seq}, block=[0-9]+, tsMs=[0-9]+$`));
  // Events of one millisecond are all included.
  const tsMs = headers.get('x-quotebook-as-of')?.split('tsMs=')[1] ?? '';
  const asOfTime = (await rest.get(`${paths[0]}&asOfTime=${tsMs}`)).headers.get('x-quotebook-as-of');
  t.match(asOfTime, new RegExp(`tsMs=${tsMs}$`));
  const seq = /seq=([0-9]+)/.exec(asOfTime ?? '')?.[1];
  t.strictSame(await answers(`&asOfTime=${tsMs}`), await answers(`&asOfSeq=${seq}`));
  t.strictSame(await answers('&asOfSeq=0', paths.slice(0, 4)), [
    { validQuotes: [], invalidQuotes: [] },
    [],
    [],
    { validQuotes: [], invalidQuotes: [], nextCursor: null },
  ]);
});

await t.test('before a pool was deployed, it has no name, no levels and no ticker', async (t) => {
  const { body: book } = await rest.get(`/book/${call.poolAddress}?chainId=421613&asOfSeq=0`);
  t.match(book, { seq: 0, instrument: null, levelsHash: `0x${'0'.repeat(64)}`, bids: [], asks: [] });
  t.match(await rest.get(`/book/${instrument}?chainId=421613&asOfSeq=0`), { status: 400 });
  const { body: tickers } = await rest.get('/tickers?chainId=421613&asOfSeq=0');
  t.match(tickers, { seq: 0, tickers: [] });
  t.strictSame(tickers.tickers, []);
});

await t.test('a filled size is counted in the tickers as of the fill, and not before it', async (t) => {
  const last = moments.at(-1)?.seq ?? 0;
  const sizes: unknown[] = [];
  for (const seq of [moments.at(-2)?.seq ?? 0, last]) {
    const { body } = await rest.get(`/tickers?chainId=421613&asOfSeq=${seq}`);
    const tickers = body.tickers as PastTickersResult['tickers'];
    const ticker = tickers.find(({ poolAddress }) => poolAddress === call.poolAddress);
    sizes.push([ticker?.filledSize24h, ticker?.volume24h]);
  }
  const filled = (ONE / 4n).toString();
  t.strictSame(sizes, [
    ['0', '0'],
    [filled, filled],
  ]);
});

await t.test('what is ahead of the log, or two points at once, is refused', async (t) => {
  const cases: [string, number][] = [
    ['&asOfSeq=1000000', 503],
    ['&asOfBlock=1000000', 503],
    ['&asOfTime=999999999999999', 503],
    ['&asOfSeq=1&asOfBlock=1', 400],
    ['&asOfSeq=-1', 400],
  ];
  for (const path of [paths[0], `/book/${call.poolAddress}?chainId=421613`, '/tickers?chainId=421613']) {
    for (const [more, status] of cases) t.equal((await rest.get(`${path}${more}`)).status, status, `${path}${more}`);
  }
  t.equal((await rest.get('/tickers?chainId=421613&fields=valuation&asOfSeq=1')).status, 400);
});

await t.test('a point that is no longer kept is 410, and the oldest one that it names is answered', async (t) => {
  const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-past-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const options = { chain, walletKey: null, keepsLog: true, dataDir };
  // The stop in order leaves a snapshot. From the beginning it is further than an answer may replay.
  await (await startTestService(options)).stop();
  const again = await startTestService({ ...options, limits: { pastReplayRecords: 20 } });
  t.teardown(() => again.stop());
  const own = new RestClient(again.httpUrl, again.apiKey);
  for (const target of paths) {
    for (const point of ['asOfSeq=0', 'asOfBlock=0', 'asOfTime=0']) {
      const gone = await own.get(`${target}&${point}`);
      const { seq, blockNumber, tsMs } = gone.body.oldest as Record<'seq' | 'blockNumber' | 'tsMs', number>;
      const message = `States before event ${seq} are not kept`;
      t.strictSame(
        [gone.status, gone.body],
        [410, { message, oldest: { seq, blockNumber, tsMs } }],
        `${target}&${point}`,
      );
      t.ok(seq > 0);
      const before = await own.get(`${target}&asOfSeq=${seq - 1}`);
      t.equal(before.status, 410, 'nothing older is kept');
      for (const oldest of [`asOfSeq=${seq}`, `asOfBlock=${blockNumber}`, `asOfTime=${tsMs}`]) {
        t.equal((await own.get(`${target}&${oldest}`)).status, 200, `${target}&${oldest}`);
      }
    }
  }
});
