import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { ONE, signQuote } from '../e2e/maker.js';
import { RestClient, type RestAnswer } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';
import { SmallVolume } from './small-volume.js';

const VOLUME_MIB = 64;
/** Space that others leave free: less than 5 % of the volume, and then nothing at all. */
const LEFT_BYTES = 1 << 20;
const PATIENCE_MS = 5_000;
/** How long the quickest of a few refusals may take: what is longer waits for something. */
const REFUSED_MS = 100;

const volume = SmallVolume.make(t, VOLUME_MIB);

t.test(
  'a full volume stops writes alone, until there is room',
  { skip: typeof volume === 'string' && volume },
  async (t) => {
    if (typeof volume === 'string') return;
    const chain = await startLocalChain();
    t.teardown(() => chain.stop());
    const service = await ServiceProcess.prepare(chain, t.testdir(), { QUOTEBOOK_DATA_DIR: volume.path });
    t.teardown(() => service.end('SIGKILL'));
    await service.start();
    const [, maker] = chain.accounts;
    const [pool] = chain.pools;
    if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');
    const rest = (): RestClient => new RestClient(service.httpUrl, service.apiKey);
    const post = async (): Promise<RestAnswer> =>
      rest().post('/quotes', [await signQuote(maker.privateKey, pool, { size: ONE })]);
    const forged = { ...(await signQuote(maker.privateKey, pool)), salt: 1 };
    /** Posts what is never published, until it is answered so; resolves to how long that took. */
    const until = async (status: number): Promise<number> => {
      const startMs = performance.now();
      while ((await rest().post('/quotes', [forged])).status !== status) {
        if (performance.now() - startMs > PATIENCE_MS) throw new Error(`no ${status} within ${PATIENCE_MS} ms`);
        await pause(10);
      }
      return Math.round(performance.now() - startMs);
    };
    const shown = async (): Promise<number> => {
      const { status, body } = await rest().get(`/orders?chainId=${chain.chainId}`);
      if (status !== 200) throw new Error(`the book was not shown: ${status}`);
      return (body.validQuotes as unknown[]).length;
    };

    t.equal((await post()).status, 201, 'with room it is taken');
    const filler = path.join(volume.path, 'filler');
    writeFileSync(filler, Buffer.alloc(volume.freeBytes - LEFT_BYTES));
    t.comment(`refused ${await until(503)} ms after the volume was nearly full`);
    const before = await shown();
    const refused = await post();
    t.strictSame([refused.status, refused.body], [503, { message: 'STORAGE_FULL' }]);
    t.equal(refused.headers.get('retry-after'), '1');
    const expired = { base: 'testWETH', quote: 'USDC', expiration: '06JAN23', strike: 1800, type: 'C' };
    for (const route of ['/pools', '/pool/settle']) {
      const { status, body } = await rest().post(route, [expired]);
      t.strictSame([status, body], [503, { message: 'STORAGE_FULL' }], route);
    }
    const answeredMs: number[] = [];
    while (answeredMs.length < 10) answeredMs.push(await until(503));
    t.ok(Math.min(...answeredMs) <= REFUSED_MS, `a write is refused after ${answeredMs.join(', ')} ms`);
    t.equal((await rest().get('/events?channel=QUOTES&fromSeq=0')).status, 200, 'the feed goes on');
    t.equal(await shown(), before, 'and the book is shown');

    const block = Buffer.alloc(4096);
    t.throws(
      () => {
        for (;;) appendFileSync(path.join(volume.path, 'rest'), block);
      },
      { code: 'ENOSPC' },
    );
    t.ok(volume.freeBytes < 64 << 10, `${volume.freeBytes} bytes are left`);
    await pause(300);
    t.ok(service.isRunning, 'the process lives');
    t.equal(await shown(), before);

    await service.end('SIGKILL');
    await service.start();
    t.equal(await shown(), before, 'a start on a full volume reads what is there');
    t.equal((await post()).status, 503, 'and takes nothing new');

    rmSync(filler);
    t.comment(`taken again ${await until(200)} ms after there was room`);
    t.equal((await post()).status, 201);
    t.equal(await shown(), before + 1);
    t.equal(await service.end('SIGTERM'), 0, 'it stops in order');
  },
);
