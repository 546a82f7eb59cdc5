import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { OrderbookClient } from '../../src/client/node.js';
import { writeReadyFile } from '../../src/ready-file.js';
import { documentedPorts } from './documented-network.js';
import { startTestService } from './running-service.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const ONE = 10n ** 18n;

const service = await startTestService({ limits: { wsHeartbeatMs: 200 } });
t.teardown(() => service.stop());
const { apiKey, chain, httpUrl } = service;
const readyFile = path.join(t.testdir(), 'ready.json');
const operatorKey = chain.accounts[0]?.privateKey ?? '0x';
await writeReadyFile(readyFile, '127.0.0.1', service.service.port, { local: { chain, operatorKey }, apiKey });
const { rest } = new OrderbookClient({ url: httpUrl, apiKey, chainId: '421613' }, documentedPorts);
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
    while (!pattern.test(this.output)) {
      if (this.#child.exitCode !== null) throw new Error(`it ended, and had printed: ${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
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
  await maker.prints(/ask 2 at 0\.051/);
  t.match(maker.output, /bid 2 at 0\.049/);
  t.strictSame([await offered('bid'), await offered('ask')], [2n * ONE, 2n * ONE]);

  const book = new Example(t, 'terminal-book');
  await book.prints(/0\.051 .* 2 .* 1[\s\S]*0\.049 .* 2 .* 1/);
  t.match(book.output, /testWETH .* 1600 C .*LIVE, connection OPEN/);
  await book.prints(/settlement block \d+/);

  const taker = new Example(t, 'taker', '1.5');
  t.equal(await taker.ends(), 0, taker.output);
  t.match(taker.output, /asked for 1\.5: 0x[0-9a-f]{40} offers 1\.5 at 0\.0505/);
  t.match(taker.output, /covered 1\.5 of 1\.5, premium 0\.07575\n/);
  await maker.prints(/filled: 0 left/);

  const more = new Example(t, 'taker', '3');
  t.equal(await more.ends(), 0, more.output);
  t.match(more.output, /bought 2 at 0\.0505 [^]*bought 1 at 0\.051 /, 'the private quote first, then the public one');
  await maker.prints(/ask 1 at 0\.051\n/);
  while ((await offered('ask')) < 2n * ONE) await new Promise((resolve) => setTimeout(resolve, 10));
  t.equal(await maker.ends('SIGINT'), 0);
  t.equal(await book.ends('SIGINT'), 0);
});

t.test('without a maker who answers, public quotes are taken, and what is missing is said', async (t) => {
  const maker = new Example(t, 'market-maker', '1', '0.03', '2');
  await maker.prints(/ask 2 at 0\.0306/);
  t.equal(await maker.ends('SIGINT'), 0);
  const taker = new Example(t, 'taker', '3', '1');
  t.equal(await taker.ends(), 1);
  t.match(taker.output, /nobody answered/);
  t.match(taker.output, /covered 2 of 3/);
});
