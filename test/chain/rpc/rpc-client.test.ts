import t, { type Test } from 'tap';
import { isChainFailure } from '../../../src/chain/contracts/contract-errors.js';
import { RpcError, RpcUnreachable, WrongChain } from '../../../src/chain/rpc/rpc-errors.js';
import { ManualClock } from '../../system/manual-clock.js';
import type { RpcRequest, Trick } from '../rpc-proxy.js';
import { ask, CHAIN_ID, endpoints, finishes, good, PATIENCE, play, requestsTo } from './played-endpoints.js';
import { until } from '../../until.js';

t.test('requests go to the first endpoint while it answers, and to the next when it does not', async (t) => {
  const { rpc, proxies } = await endpoints(t, 3);
  const [first] = proxies;
  if (!first) throw new Error('There are three');
  t.equal(await ask(rpc), 0);
  t.equal(await ask(rpc), 0);
  play(first, () => 'CUT');
  t.equal(await ask(rpc), 1);
  t.equal(await ask(rpc), 1, 'and stay there, so that heads of two nodes do not mix');
  t.equal(requestsTo(first), 3);
});

const useless: readonly [string, Trick | ((request: RpcRequest) => Trick)][] = [
  ['HTML of a gateway', { status: 200, body: '<html>It works!</html>' }],
  ['an HTTP error', { status: 502, body: 'Bad gateway' }],
  ['JSON that is no object', { status: 200, body: '42' }],
  ['an answer to another request', { status: 200, body: '{"jsonrpc":"2.0","id":-1,"result":"0x1"}' }],
  ['the refusal of another request', { status: 200, body: '{"jsonrpc":"2.0","id":-1,"error":{"code":3}}' }],
  ['an answer without a result', ({ id }) => good(id, undefined)],
  ['an answer that is too large', { status: 200, body: `{"jsonrpc":"2.0","id":1,"result":"0x${'0'.repeat(10_000)}"}` }],
  ['an answer of too many parts', ({ id }) => good(id, Array(200).fill({}))],
  ['a node that is broken inside', { error: { code: -32603, message: 'Internal error' } }],
  ['a limit that is passed on', { error: { code: -32000, message: '429 Too Many Requests: {"code":-32016}' } }],
  ['a limit by the number of HTTP', { error: { code: 429, message: 'Slow down' } }],
  ['a limit by its words', { error: { code: -32012, message: 'credits limited to 6000/sec' } }],
];
for (const [what, trick] of useless) {
  t.test(`${what} is no answer: the next endpoint is asked`, async (t) => {
    const { rpc, proxies, failures } = await endpoints(t, 2);
    play(proxies[0], (request) => (typeof trick === 'function' ? trick(request) : trick));
    t.equal(await ask(rpc), 1);
    t.equal(failures.length, 1);
  });
}

t.test('an endpoint that hangs is left after the timeout', async (t) => {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 2, {}, clock);
  play(proxies[0], () => 'HANG');
  const asked = ask(rpc);
  await until(() => requestsTo(proxies[0]) === 1);
  t.equal(requestsTo(proxies[1]), 0);
  clock.advance(PATIENCE.timeoutMs);
  await finishes(asked, clock, 1);
  t.equal(await asked, 1);
});

t.test('with every endpoint down the request fails after its tries', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  for (const proxy of proxies) play(proxy, () => 'CUT');
  await t.rejects(ask(rpc), RpcUnreachable);
  t.strictSame(proxies.map(requestsTo), [2, 1]);
});

t.test("a node's own refusal is the answer: nobody else is asked", async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  const error = { code: 3, message: 'execution reverted', data: '0x1234' };
  play(proxies[0], () => ({ error }));
  const refused = await ask(rpc).catch((refusal: unknown) => refusal);
  t.ok(refused instanceof RpcError);
  t.match(refused, error);
  t.equal(requestsTo(proxies[1]), 0);
});

t.test('too many logs are the asker to ask for less', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  for (const logs of ['0'.repeat(20_000), Array(2_000).fill({})]) {
    play(proxies[0], ({ id }) => good(id, logs));
    await t.rejects(ask(rpc, 'eth_getLogs'), RpcError);
  }
  const most = Array(400).fill({});
  play(proxies[0], ({ id }) => good(id, most));
  t.strictSame(await ask(rpc, 'eth_getLogs'), most, 'they may have more parts than other answers');
});

t.test(
  'too many results are not taken for a rate limit, or a fault, that they may have the code or status of',
  async (t) => {
    for (const [status, code, message] of [
      [200, -32005, 'query returned more than 10000 results'],
      [413, -32614, 'eth_getLogs is limited to a 10,000 range'], // QuickNode
      [500, -32020, 'backend response too large'], // proxyd
      [200, -32005, 'query timeout exceeded'], // Infura
      [429, -32005, 'query returned more than 10000 results'],
    ] as const) {
      const { rpc, proxies } = await endpoints(t, 2);
      play(proxies[0], ({ id }) => ({
        status,
        body: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }),
      }));
      await t.rejects(ask(rpc, 'eth_getLogs'), { name: 'RpcError', code, message });
      t.equal(await ask(rpc), 1, 'with any other request it is one');
    }
  },
);

t.test('any other refusal under the status of a failure is the fault of that endpoint', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  const error = { code: -32600, message: 'Must be authenticated!' };
  play(proxies[0], ({ id }) => ({ status: 401, body: JSON.stringify({ jsonrpc: '2.0', id, error }) }));
  t.equal(await ask(rpc, 'eth_getLogs'), 1);
});

t.test('what a node says with HTTP 400 is its answer, also where it knows no id', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  const error = { code: -32602, message: 'Invalid params' };
  for (const known of [true, false]) {
    const body = (id: number): string => JSON.stringify({ jsonrpc: '2.0', id: known ? id : null, error });
    play(proxies[0], ({ id }) => ({ status: 400, body: body(id) }));
    await t.rejects(ask(rpc), error);
  }
  t.equal(requestsTo(proxies[1]), 0);
});

t.test('an endpoint of another chain is not asked', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  if (proxies[0]) proxies[0].trick = ({ id }) => good(id, CHAIN_ID + 1);
  t.equal(await ask(rpc), 1);
  t.equal(requestsTo(proxies[0]), 0);
  const { rpc: lone, proxies: only } = await endpoints(t, 1);
  if (only[0]) only[0].trick = ({ id }) => good(id, CHAIN_ID + 1);
  await t.rejects(ask(lone), WrongChain);
});

/** Two endpoints, the first of which has just failed. */
async function onTheSecond(t: Test) {
  const clock = new ManualClock();
  const { rpc, proxies } = await endpoints(t, 2, {}, clock);
  play(proxies[0], () => 'CUT');
  const first = ask(rpc);
  await finishes(first, clock, 1);
  t.equal(await first, 1);
  t.equal(rpc.endpoint, 1);
  const heads = (...numbers: number[]): void =>
    numbers.forEach((head, n) =>
      play(proxies[n], ({ id, method }) => (method === 'eth_blockNumber' ? good(id, head) : good(id, n))),
    );
  return { clock, rpc, proxies, heads };
}

t.test('the preferred endpoint is asked again when it is well', async (t) => {
  const { clock, rpc, proxies, heads } = await onTheSecond(t);
  heads(100, 100);
  t.equal(await ask(rpc), 1);
  t.equal(requestsTo(proxies[0]), 1, 'not before its time');
  clock.advance(15_000);
  t.equal(await ask(rpc), 1, 'no request waits for the look at it');
  await until(() => rpc.endpoint === 0);
  t.equal(await ask(rpc), 0);
});

t.test('the preferred endpoint is not asked again while it fails or is behind', async (t) => {
  const { clock, rpc, proxies, heads } = await onTheSecond(t);
  /** Until it was looked at so often: the answer of the look before may still be on its way when the clock moves. */
  const lookedAt = async (times: number): Promise<void> => {
    while ((requestsTo(proxies[0]) ?? 0) < times) {
      clock.advance(15_000);
      t.equal(await ask(rpc), 1);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  await lookedAt(2);
  heads(99, 100);
  await lookedAt(3);
  heads(100, 100);
  t.equal(await ask(rpc), 1, 'and each time it is left alone for as long');
  await until(async () => {
    clock.advance(15_000);
    await ask(rpc);
    return rpc.endpoint === 0;
  });
});

t.test('the preferred endpoint is looked at once at a time, and after a failed look not before its time', async (t) => {
  const { clock, rpc, proxies, heads } = await onTheSecond(t);
  const looks = (): number => (requestsTo(proxies[0]) ?? 0) - 1;
  heads(100, 100);
  play(proxies[0], () => 'HANG');
  clock.advance(15_000);
  t.equal(await ask(rpc), 1);
  await until(() => looks() === 1);
  for (let n = 0; n < 3; n++) t.equal(await ask(rpc), 1);
  t.equal(looks(), 1, 'none beside the one that has no answer yet');
  clock.advance(PATIENCE.timeoutMs);
  // The look has failed by the time that another would be due at once.
  for (let n = 0; n < 20; n++) await ask(rpc);
  t.equal(looks(), 1);
  clock.advance(15_000);
  await ask(rpc);
  await until(() => looks() === 2);
});

t.test('a preferred endpoint that has come to be of another chain is not returned to', async (t) => {
  const { clock, rpc, proxies, heads } = await onTheSecond(t);
  heads(100, 100);
  const [first] = proxies;
  if (!first) throw new Error('There are two');
  const { trick } = first;
  first.trick = (request) => (request.method === 'eth_chainId' ? good(request.id, CHAIN_ID + 1) : trick(request));
  const checks = (): number => first.requests.filter(({ method }) => method === 'eth_chainId').length;
  const before = checks();
  const answers = new Set<unknown>();
  // Twice: whatever the first look led to is settled then.
  await until(async () => {
    clock.advance(15_000);
    answers.add(await ask(rpc));
    return checks() >= before + 2;
  });
  t.strictSame([...answers], [1]);
  t.equal(requestsTo(first), 1, 'nor asked for anything else');
});

t.test('an endpoint that has come to be of another chain is not used once all others fail', async (t) => {
  const { clock, rpc, proxies, heads } = await onTheSecond(t);
  heads(100, 100);
  const [first, second] = proxies;
  if (!first || !second) throw new Error('There are two');
  const { trick } = first;
  first.trick = (request) => (request.method === 'eth_chainId' ? good(request.id, CHAIN_ID + 1) : trick(request));
  const checks = (): number => first.requests.filter(({ method }) => method === 'eth_chainId').length;
  const before = checks();
  await until(async () => {
    clock.advance(15_000);
    await ask(rpc);
    return checks() >= before + 2;
  });
  second.trick = () => 'CUT';
  const failing = ask(rpc);
  await Promise.all([
    t.rejects(failing),
    finishes(
      failing.catch(() => null),
      clock,
      0,
    ),
  ]);
  t.equal(requestsTo(first), 1, 'it was asked for its chain alone');
});

t.test('code that breaks, or reverts with the words of a limit, is an answer: nobody else is asked', async (t) => {
  const { rpc, proxies } = await endpoints(t, 2);
  const words = ['EVM error InvalidFEOpcode', 'VM execution error.', 'out of gas', 'invalid opcode', 'stack underflow'];
  const broken = words.map((message) => ({ code: -32603, message }));
  const reverted = [3, -32000].map((code) => ({ code, message: 'execution reverted: Too Many Requests' }));
  for (const { code, message } of [...broken, ...reverted]) {
    if (proxies[0]) proxies[0].trick = () => ({ error: { code, message } });
    await t.rejects(ask(rpc, 'eth_call'), { message });
  }
  t.equal(proxies[1]?.requests.length, 0);
});

t.test('an endpoint whose chain id is no number is left for the next, and is of no chain yet', async (t) => {
  const { rpc, proxies, failures } = await endpoints(t, 2);
  const [first, second] = proxies;
  if (!first || !second) throw new Error('There are two');
  for (const answer of [null, '', 'seven', { toString: 1 }]) {
    first.trick = ({ id }) => good(id, answer);
    t.equal(await ask(rpc), 1, JSON.stringify(answer));
    rpc.preferAnother();
  }
  t.equal(failures.length, 4);
  for (const proxy of proxies) proxy.trick = ({ id }) => good(id, null);
  const alone = await endpoints(t, 1);
  for (const proxy of alone.proxies) proxy.trick = ({ id }) => good(id, null);
  const error: unknown = await ask(alone.rpc).catch((thrown: unknown) => thrown);
  t.notOk(error instanceof WrongChain, 'which would end the start');
  t.ok(isChainFailure(error));
});

t.test('which chain an endpoint is of is asked once', async (t) => {
  const { rpc, proxies } = await endpoints(t, 1);
  for (let n = 0; n < 3; n++) await ask(rpc);
  t.equal(proxies[0]?.requests.filter(({ method }) => method === 'eth_chainId').length, 1);
});

t.test('another endpoint is asked on demand, once it has said of which chain it is', async (t) => {
  const { rpc, proxies, failures } = await endpoints(t, 2);
  const another = (): Promise<unknown> => rpc.requestFromAnother({ method: 'eth_blockNumber' });
  await another();
  t.strictSame(
    proxies.map(({ requests }) => requests.map(({ method }) => method)),
    [[], ['eth_chainId', 'eth_blockNumber']],
  );
  t.equal(rpc.endpoint, 0, 'it stays the other one');
  if (proxies[1]) proxies[1].trick = () => 'CUT';
  await t.rejects(another());
  t.equal(failures.length, 1);
});
