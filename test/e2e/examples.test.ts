import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { createPublicClient, type Hex, http } from 'viem';
import { writeReadyFile } from '../../src/app/local-setup.js';
import { OrderbookClient, type QuoteEvent } from '../../src/client/node.js';
import { tierQuotas } from '../../src/config/limits.js';
import { documentedPorts } from './documented-network.js';
import { startTestService } from './running-service.js';
import { until } from '../until.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ONE = 10n ** 18n;

const service = await startTestService({ limits: { wsHeartbeatMs: 200, minQuoteLifeSeconds: 1 } });
t.teardown(() => service.stop());
const { apiKey, chain, httpUrl } = service;
const readyFile = path.join(t.testdir(), 'ready.json');
const operatorKey = chain.accounts[0]?.privateKey ?? '0x';
await writeReadyFile(readyFile, { ...service.service, host: '127.0.0.1' }, { local: { chain, operatorKey }, apiKey });
const client = new OrderbookClient({ url: httpUrl, apiKey, chainId: '421613' }, documentedPorts);
t.teardown(() => client.close());
const { rest } = client;
const [pool] = chain.pools;
if (pool === undefined) throw new Error('a chain has pools');
const { poolAddress } = pool;

/** An example as a user runs it, with what it has printed. */
class Example {
  output = '';
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(t: Test, name: string, ...words: readonly string[]) {
    const file = path.join('examples', `${name}.mjs`);
    this.#child = spawn(process.execPath, [file, readyFile, ...words], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#ended = once(this.#child, 'close');
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (data: Buffer) => (this.output += data.toString()));
    }
    t.teardown(() => this.#child.kill('SIGKILL'));
  }

  async prints(pattern: RegExp): Promise<void> {
    await until(() => {
      if (pattern.test(this.output)) return true;
      if (this.#child.exitCode !== null) throw new Error(`it ended, and had printed: ${this.output}`);
      return false;
    });
  }

  /** Resolves to the exit code. */
  async ends(signal?: NodeJS.Signals): Promise<number | null> {
    if (signal !== undefined) this.#child.kill(signal);
    await this.#ended;
    return this.#child.exitCode;
  }
}

async function offered(side: 'bid' | 'ask'): Promise<bigint> {
  const quotes = await rest.quotes({ poolAddress, side, size: String(1000n * ONE) });
  return quotes.reduce((sum, { fillableSize }) => sum + BigInt(fillableSize), 0n);
}

t.test('a maker quotes both sides, a taker asks, is answered and covers its size, and the book is drawn', async (t) => {
  const maker = new Example(t, 'market-maker', '0', '0.05', '2');
  await maker.prints(/ask 1\.5 at 0\.051/);
  t.match(maker.output, /bid 1\.5 at 0\.049/);
  t.strictSame([await offered('bid'), await offered('ask')], [(3n * ONE) / 2n, (3n * ONE) / 2n]);

  const book = new Example(t, 'terminal-book');
  await book.prints(/0\.051 .* 1\.5 .* 1[\s\S]*0\.049 .* 1\.5 .* 1/);
  t.match(book.output, /testWETH .* 1600 C .*LIVE, connection OPEN/);
  await book.prints(/settlement block \d+/);

  const taker = new Example(t, 'taker', '1.5');
  t.equal(await taker.ends(), 0, taker.output);
  t.match(taker.output, /asked for 1\.5: 0x[0-9a-f]{40} offers 0\.5 at 0\.0505/);
  t.match(
    taker.output,
    /bought 0\.5 at 0\.0505 [^]*bought 1 at 0\.051 /,
    'the private quote first, then the public one',
  );
  t.match(taker.output, /covered 1\.5 of 1\.5, premium 0\.07625\n/);
  await maker.prints(/filled: 0 left/);
  await maker.prints(/ask 1 at 0\.051\n/);
  await until(async () => (await offered('ask')) >= (3n * ONE) / 2n);
  t.equal(await maker.ends('SIGINT'), 0);
  t.strictSame([await offered('bid'), await offered('ask')], [0n, 0n], 'and its quotes are cancelled');
  t.equal(await book.ends('SIGINT'), 0);
});

t.test('without a price a maker quotes one that the option can have', async (t) => {
  const maker = new Example(t, 'market-maker');
  await maker.prints(/ask 1\.5 at/);
  await until(async () => {
    const { tickers } = await rest.valuedTickers();
    const ticker = tickers.find((each) => each.poolAddress === poolAddress);
    return ticker?.valuation.bidVolatility != null && ticker.valuation.askVolatility !== null;
  });
  t.equal(await maker.ends('SIGINT'), 0);
});

t.test('a maker publishes a quote in a transaction of its own, without the wallet of the service', async (t) => {
  const maker = new Example(t, 'publish-quote', '0.07', '1');
  t.equal(await maker.ends(), 0, maker.output);
  const [, hash = '0x'] = /^(0x[0-9a-f]{64}): success, \d+ gas$/m.exec(maker.output) ?? [];
  const [, quoteId = '0x'] = /^POST_QUOTE (0x[0-9a-f]{64})$/m.exec(maker.output) ?? [];
  const node = createPublicClient({ transport: http(chain.rpcUrl) });
  const { from } = await node.getTransaction({ hash: hash as Hex });
  t.equal(from, chain.accounts[1]?.address.toLowerCase());
  const { validQuotes } = await rest.orders({ quoteIds: [quoteId] });
  t.match(validQuotes, [{ quoteId, price: String((7n * ONE) / 100n), provider: from }]);

  const again = new Example(t, 'publish-quote', '2', '1');
  t.equal(await again.ends(), 1, 'a quote that the service would not show is not sent');
  t.match(again.output, /OutOfBoundsPrice/);
});

t.test('an example ends with its usage where a word is wrong', async (t) => {
  for (const [name, ...words] of [
    ['market-maker', '1', '0'],
    ['market-maker', '99'],
    ['market-maker', '0', '0.05', '2', '0.5', 'long'],
    ['taker', '1', '999'],
    ['taker', 'abc'],
    ['post-quote', '0'],
    ['publish-quote', '0.05', 'abc'],
    ['terminal-book', '99'],
  ] as const) {
    const example = new Example(t, name, ...words);
    t.equal(await example.ends(), 2, example.output);
    t.match(example.output, new RegExp(`^[^\\n]* above 0:|^POOL_NUMBER is from 0 to \\d+:`));
    t.match(example.output, `\n  node examples/${name}.mjs READY_FILE [`);
  }
});

t.test('without a maker who answers, public quotes are taken, and what is missing is said', async (t) => {
  const maker = new Example(t, 'market-maker', '1', '0.03', '2');
  await maker.prints(/ask 1\.5 at 0\.0306/);
  // Killed, it cannot cancel its quotes.
  await maker.ends('SIGKILL');
  const taker = new Example(t, 'taker', '3', '1');
  t.equal(await taker.ends(), 1);
  t.match(taker.output, /nobody answered/);
  t.match(taker.output, /covered 1\.5 of 3/);
});

t.test('through renewals, fills and answers a maker never offers more than its size on a side', async (t) => {
  const makerPool = chain.pools[2];
  if (makerPool === undefined) throw new Error('a chain has pools');
  const seen = await watchMaker(makerPool.poolAddress);
  const maker = new Example(t, 'market-maker', '2', '0.04', '2', '0.5', '4');
  await maker.prints(/ask 1\.5 at 0\.0408/);
  for (const size of ['1.5', '2']) {
    // While what was filled is offered anew, there is no room for an answer. On a busy machine quotes of four seconds may
    // expire before the taker's three have passed: it asks again.
    await until(async () => {
      await until(() => seen.samples.at(-1)?.ask === 1.5);
      const taker = new Example(t, 'taker', size, '2');
      await taker.ends();
      t.comment(taker.output, maker.output);
      return taker.output.includes('offers 0.5 at 0.0404');
    });
  }
  await until(() => seen.posted.filter(({ body }) => body.isBuy).length >= 3);
  t.ok(seen.samples.length > 20, `${seen.samples.length} samples`);
  for (const side of ['bid', 'ask'] as const) {
    t.equal(Math.max(...seen.samples.map((sample) => sample[side])), side === 'bid' ? 1.5 : 2, side);
  }
  t.equal(await maker.ends('SIGINT'), 0);
  seen.close();
});

t.test('a maker posts no more quotes than its key may have in a day', async (t) => {
  const makerPool = chain.pools[4];
  if (makerPool === undefined) throw new Error('a chain has pools');
  const seen = await watchMaker(makerPool.poolAddress);
  // A fifteenth of 60 at once, and another one only after 26 minutes.
  const maker = new Example(t, 'market-maker', '4', '0.04', '2', '0.5', '2', '60');
  await until(() => seen.expired.length === 4);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  t.equal(seen.posted.length, 4);
  t.equal(await maker.ends('SIGINT'), 0);
  seen.close();

  const source = await readFile(path.join(ROOT, 'examples', 'market-maker.mjs'), 'utf8');
  const [, life, perDay] = /words\[5\] \?\? '(\d+)', words\[6\] \?\? '(\d+)'/.exec(source)?.map(Number) ?? [];
  const { quotesPerDay, gasPerDay } = tierQuotas.free;
  if (life === undefined || perDay === undefined) throw new Error('the example has defaults');
  t.ok((2 * 86_400) / life < perDay / 2, 'renewals leave half of the quotes to fills and answers');
  t.ok(perDay <= quotesPerDay && perDay * GAS_OF_ONE <= gasPerDay, 'the defaults are within the free tier');
});

/** Gas of publishing a quote in a request of its own. */
const GAS_OF_ONE = 33_900;

/** What the makers of a pool offer in whole contracts, after each change of their quotes and every 50 ms. */
async function watchMaker(poolAddress: `0x${string}`) {
  const followed = client.followQuotes({ poolAddress, taker: '*' });
  const [posted, expired]: [QuoteEvent[], QuoteEvent[]] = [[], []];
  const samples: { readonly bid: number; readonly ask: number }[] = [];
  const sample = (): void => {
    const sum = (side: 'bid' | 'ask'): number =>
      Number(followed.book.side(poolAddress, side).reduce((total, each) => total + BigInt(each.fillableSize), 0n)) /
      1e18;
    samples.push({ bid: sum('bid'), ask: sum('ask') });
  };
  const timer = setInterval(sample, 50);
  followed.onEvent((event) => {
    if (event.type === 'POST_QUOTE') posted.push(event);
    if (event.type === 'EXPIRE_QUOTE') expired.push(event);
    sample();
  });
  await followed.whenLive();
  return {
    posted,
    expired,
    samples,
    close(): void {
      clearInterval(timer);
      followed.close();
    },
  };
}
