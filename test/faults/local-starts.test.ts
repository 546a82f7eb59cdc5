import { existsSync, readFileSync, rmSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

interface Ready {
  readonly chainId: number;
  readonly accounts: readonly { readonly privateKey: `0x${string}` }[];
  readonly pools: readonly {
    readonly poolAddress: `0x${string}`;
    readonly poolKey: Record<'base' | 'quote' | 'oracleAdapter' | 'strike', `0x${string}`> & {
      readonly maturity: number;
      readonly isCallPool: boolean;
    };
  }[];
}

const dataDir = t.testdir();
const service = await ServiceProcess.prepareLocal(dataDir);
t.teardown(() => service.end('SIGTERM'));

const ready = (): Ready => JSON.parse(readFileSync(path.join(dataDir, 'ready.json'), 'utf8')) as Ready;
const rest = (): RestClient => new RestClient(service.httpUrl, service.apiKey);

async function validQuotes(): Promise<unknown[]> {
  return (await rest().get(`/orders?chainId=${ready().chainId}`)).body.validQuotes as unknown[];
}

await t.test('what is started again goes on where it was, its chain included', async (t) => {
  await service.start();
  const { accounts, pools } = ready();
  const [pool, maker] = [pools[0], accounts[1]];
  if (!pool || !maker) throw new Error('The local chain lacks pools or accounts');
  const signed = { ...pool, poolKey: { ...pool.poolKey, strike: BigInt(pool.poolKey.strike) } };
  const posted = await rest().post('/quotes', [await signQuote(maker.privateKey, signed)]);
  t.equal(posted.status, 201);
  t.equal(await service.end('SIGTERM'), 0);

  await service.start();
  t.strictSame(await validQuotes(), posted.body.created);
  t.strictSame(ready().pools, pools);
  const again = await rest().post('/quotes', [await signQuote(maker.privateKey, signed)]);
  t.equal(again.status, 201, 'and the chain takes more');
  t.equal((await validQuotes()).length, 2);
  t.equal(await service.end('SIGTERM'), 0);
});

await t.test('with its chain gone a new directory is begun beside the old log, and it says so', async (t) => {
  rmSync(path.join(dataDir, 'local-chain.json'));
  await service.start();
  t.strictSame(await validQuotes(), []);
  t.match(service.said, /log belongs to another chain/);
  t.ok(existsSync(path.join(dataDir, 'local-2')));
  t.ok(existsSync(path.join(dataDir, 'local')), 'the old log is left alone');
  // Before tap clears the directory away, which comes before what the test tears down.
  t.equal(await service.end('SIGTERM'), 0);
});
