import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import t from 'tap';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { signQuote } from '../e2e/maker.js';
import { RestClient } from '../e2e/rest-client.js';
import { ServiceProcess } from './service-process.js';

t.setTimeout(240_000);

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const [, maker] = chain.accounts;
const [pool] = chain.pools;
if (maker === undefined || pool === undefined) throw new Error('The local chain lacks accounts or pools');

/** The one file of this name below the directory. */
function find(directory: string, name: RegExp): string {
  const found = readdirSync(directory, { recursive: true, encoding: 'utf8' }).find((file) => name.test(file));
  if (found === undefined) throw new Error(`there is no ${name}`);
  return path.join(directory, found);
}

const FILES = { 'a list of keys': /keys\.json$/, budgets: /budgets\.jsonl$/, intents: /intents-.*\.jsonl$/ };
const LOSSES = {
  missing: (file: string) => rmSync(file),
  // What is left of it by a copy that was not finished: its last line is torn.
  'cut short': (file: string) => writeFileSync(file, readFileSync(file, 'utf8').trimEnd().slice(0, -10)),
};

for (const [what, pattern] of Object.entries(FILES)) {
  for (const [how, lose] of Object.entries(LOSSES)) {
    if (what === 'a list of keys' && how === 'cut short') continue; // It is no JSON then: the key store's own tests.
    t.test(`${what} that is ${how} stops the start until the operator accepts it`, async (t) => {
      const service = await ServiceProcess.prepare(chain, t.testdir());
      t.teardown(() => service.end('SIGKILL'));
      await service.start();
      const rest = new RestClient(service.httpUrl, service.apiKey);
      t.equal((await rest.post('/quotes', [await signQuote(maker.privateKey, pool)])).status, 201);
      t.equal(await service.end('SIGTERM'), 0);

      const file = find(service.dataDir, pattern);
      const name = path.basename(file);
      lose(file);
      const refused = await service.start().catch((error: unknown) => error as Error);
      t.match(refused, { message: new RegExp(`${name}.*--accept-missing ${name}`) });
      t.equal(await service.ended(), 1);

      await service.start([], undefined, ['--accept-missing', name]);
      t.equal(await service.end('SIGTERM'), 0);
      await service.start();
      t.equal((await new RestClient(service.httpUrl, service.apiKey).get('/ready')).status, 200, 'once is enough');
      t.equal(await service.end('SIGTERM'), 0);
    });
  }
}
