import { EventEmitter, once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pino from 'pino';
import t from 'tap';
import { awaitChains, type AwaitChainsOptions } from '../../src/app/wait-for-chains.js';
import { RpcError, RpcUnreachable, WrongChain } from '../../src/chain/rpc/rpc-errors.js';
import { limits } from '../../src/config/limits.js';
import { documentedFetch } from '../e2e/documented-network.js';
import { ManualClock } from '../system/manual-clock.js';
import { until } from '../until.js';

const IDENTITY = { settlementChainId: 7 };
const MOST_PATIENT = { bytes: (length: number) => new Uint8Array(length), unit: () => 1 };

/** A start whose chains answer as `ask` says, and the lines that it logs. */
function begin(ask: AwaitChainsOptions['ask'], port = 0) {
  const clock = new ManualClock();
  const lines: { msg: string; port?: number; waitedSeconds?: number }[] = [];
  const logger = pino({}, { write: (line: string) => lines.push(JSON.parse(line) as (typeof lines)[0]) });
  const signals = new EventEmitter();
  const base = { ask, clock, limits, logger, random: MOST_PATIENT, netBackend: 'auto' as const };
  const identity = awaitChains({ ...base, host: '127.0.0.1', port, stopping: once(signals, 'stop') });
  identity.catch(() => undefined);
  return { clock, lines, identity, stop: () => signals.emit('stop') };
}

await t.test('chains that answer are not waited for', async (t) => {
  const { identity, lines } = begin(() => Promise.resolve(IDENTITY));
  t.strictSame(await identity, IDENTITY);
  t.strictSame(lines, []);
});

await t.test(
  'while they do not answer the service lives and is not ready, says why, and goes on once they do',
  async (t) => {
    let isUp = false;
    const { clock, lines, identity } = begin(() =>
      isUp ? Promise.resolve(IDENTITY) : Promise.reject(new RpcUnreachable('No answer to eth_chainId')),
    );
    await until(() => lines.length === 1);
    clock.advance(1_000);
    await until(() => lines.some(({ port }) => port !== undefined));
    const httpUrl = `http://127.0.0.1:${lines.find(({ port }) => port !== undefined)?.port}`;
    t.equal((await documentedFetch(`${httpUrl}/health`)).status, 200);
    const ready = await documentedFetch(`${httpUrl}/ready`);
    t.equal(ready.status, 503);
    const reason = 'The chains have not been reached yet: No answer to eth_chainId';
    t.strictSame(await ready.json(), { ready: false, reasons: [reason] });
    for (const [path, method] of [
      ['/quotes', 'POST'],
      ['/orders', 'GET'],
    ] as const) {
      const refused = await documentedFetch(`${httpUrl}${path}`, { method });
      t.equal(refused.status, 503);
      t.equal(refused.headers.get('retry-after'), '1');
      t.strictSame(await refused.json(), { message: reason });
    }
    for (let tries = 0; tries < 5; tries++) {
      await until(() => clock.pending > 0);
      clock.advance(10_000);
    }
    t.equal(lines.filter(({ waitedSeconds }) => waitedSeconds !== undefined).length, 1, 'for the log it is one event');
    isUp = true;
    const over = { yet: false };
    void identity.finally(() => (over.yet = true));
    await until(() => {
      clock.advance(10_000);
      return over.yet;
    });
    t.strictSame(await identity, IDENTITY);
    await t.rejects(fetch(`${httpUrl}/health`), 'its port is free for the service');
  },
);

await t.test(
  'clients do not see what a node says of its own errors: it may name the account with its provider',
  async (t) => {
    const said = 'project 0a1b2c is over its limit';
    const { clock, lines, stop } = begin(() => Promise.reject(new RpcError(-32005, said, null)));
    await until(() => lines.length === 1);
    t.match(lines[0], { reason: `RpcError: ${said}` }, 'but for the log');
    clock.advance(1_000);
    await until(() => lines.some(({ port }) => port !== undefined));
    const httpUrl = `http://127.0.0.1:${lines.find(({ port }) => port !== undefined)?.port}`;
    const reason = 'The chains have not been reached yet: a node gave error -32005';
    t.strictSame(await (await documentedFetch(`${httpUrl}/ready`)).json(), { ready: false, reasons: [reason] });
    t.strictSame(await (await documentedFetch(`${httpUrl}/quotes`)).json(), { message: reason });
    stop();
  },
);

await t.test('a chain that hangs is waited for like one that is down', async (t) => {
  const { clock, lines, identity, stop } = begin(() => new Promise(() => undefined));
  clock.advance(1_000);
  await until(() => lines.some(({ port }) => port !== undefined));
  stop();
  t.equal(await identity, null, 'and a signal ends the waiting');
});

await t.test('another chain than the profile says ends the start: waiting would not cure it', async (t) => {
  const { identity } = begin(() => Promise.reject(new WrongChain('An endpoint is of chain 1, not of 7')));
  await t.rejects(identity, WrongChain);
});

await t.test('where the port is taken the start ends, and the chains are not asked again', async (t) => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  t.teardown(() => other.close());
  const { port } = other.address() as AddressInfo;
  const unreachable = () => Promise.reject(new RpcUnreachable('No answer to eth_chainId'));
  const { clock, lines, identity } = begin(unreachable, port);
  await until(() => lines.length === 1);
  clock.advance(1_000);
  await t.rejects(identity, { message: /listen/ });
  await until(() => clock.pending === 0);
});
