import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import type { LocalReadyFile } from '../../src/app/local-setup.js';
import { RestClient } from '../e2e/rest-client.js';
import { until } from '../until.js';
import { ServiceProcess } from './service-process.js';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const hasCurl = spawnSync('curl', ['--version']).status === 0;

/** A line of what was printed, as a newcomer pastes it. */
class Pasted {
  output = '';
  readonly #child;
  readonly #ended: Promise<unknown>;

  constructor(command: string) {
    this.#child = spawn('sh', ['-c', `exec ${command}`], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child.stdout.on('data', (data: Buffer) => (this.output += data.toString()));
    this.#ended = once(this.#child, 'close');
  }

  async prints(text: string): Promise<void> {
    await until(() => {
      const isPrinted = this.output.includes(text);
      if (!isPrinted && this.#child.exitCode !== null) throw new Error(`it ended, and had printed: ${this.output}`);
      return isPrinted;
    });
  }

  async ends(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}

/** JSON-RPC of the local chain. */
async function ask(rpcUrl: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(rpcUrl, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return ((await answer.json()) as { result: unknown }).result;
}

t.test('a newcomer finds what was promised, and the commands that are printed work as they stand', async (t) => {
  t.setTimeout(120_000);
  const dataDir = t.testdir();
  const service = await ServiceProcess.prepareLocal(dataDir);
  t.teardown(() => service.end('SIGKILL'));
  let printed = '';
  await service.start([], (text) => (printed += text));
  while (!printed.includes('Ctrl-C')) await new Promise((resolve) => setTimeout(resolve, 10));
  const ready = JSON.parse(readFileSync(path.join(dataDir, 'ready.json'), 'utf8')) as LocalReadyFile;

  const fields = [
    'httpUrl',
    'wsUrl',
    'apiKey',
    'rpcUrl',
    'chainId',
    'accounts',
    'tokens',
    'contracts',
    'vaults',
    'pools',
  ];
  t.strictSame(Object.keys(ready).sort(), fields.sort());
  t.strictSame(Object.keys(ready.contracts).sort(), [
    'erc20Router',
    'multicall3',
    'oracleAdapter',
    'orderbookStream',
    'poolFactory',
    'volatilityOracle',
  ]);
  for (const contract of Object.values(ready.contracts)) {
    t.not(await ask(ready.rpcUrl, 'eth_getCode', [contract, 'latest']), '0x');
  }
  const { stdout: keys } = await service.run(['keys', 'list']);
  t.match(keys, / paid .* local set-up$/m);
  const listed = (await new RestClient(ready.httpUrl, ready.apiKey).get('/pools')).body as unknown as {
    poolAddress: string;
  }[];
  t.strictSame(
    new Set(listed.map(({ poolAddress }) => poolAddress)),
    new Set(ready.pools.map(({ poolAddress }) => poolAddress)),
    'every pool is deployed',
  );
  for (const term of ['strike', 'maturity', 'isCallPool'] as const) {
    t.ok(new Set(ready.pools.map(({ poolKey }) => poolKey[term])).size > 1, `pools differ by ${term}`);
  }
  const shown = [ready.httpUrl, ready.wsUrl, ready.apiKey, ready.rpcUrl];
  t.strictSame(
    shown.filter((text) => !printed.includes(text)),
    [],
    'the greeting has the URLs and the key; accounts and pools are in the ready file',
  );

  const commands = printed.split('\n').flatMap((line) => /^ {2}((?:node|curl) .*)$/.exec(line)?.[1] ?? []);
  const [watch, post, read] = commands;
  if (watch === undefined || post === undefined || read === undefined) throw new Error('three are printed');
  const watching = new Pasted(watch);
  t.teardown(() => watching.kill());
  await watching.prints('Subscribed to rfq');
  const posting = new Pasted(post);
  t.equal(await posting.ends(), 0);
  t.match(posting.output, /^201 /);
  await watching.prints('"type":"POST_QUOTE"');
  if (hasCurl) {
    const reading = new Pasted(read);
    t.equal(await reading.ends(), 0);
    t.equal((JSON.parse(reading.output) as unknown[]).length, 1);
  } else t.pass('curl reads the quote', { skip: 'there is no curl here' });
  const block = await ask(ready.rpcUrl, 'eth_getBlockByNumber', ['latest', true]);
  const [sent] = (block as { transactions: { from: string; to: string }[] }).transactions;
  t.strictSame(
    [sent?.from, sent?.to],
    [ready.accounts[0]?.address, ready.contracts.orderbookStream].map((address) => address?.toLowerCase()),
    "the first account is the operator's wallet",
  );

  t.equal(await service.end('SIGINT'), 0, 'Ctrl-C stops it');
  await t.rejects(ask(ready.rpcUrl, 'eth_chainId', []), 'and the chain');
});
