import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import t, { type Test } from 'tap';
import { WebSocket } from 'ws';
import { devClient } from '../../src/chain/dev/dev-client.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { limits } from '../../src/config/limits.js';
import type { ServerMessageV2 } from '../../src/wire/feed-messages.js';
import { RpcProxy } from '../chain/rpc-proxy.js';
import { assertDocumentedFrame } from '../e2e/documented-answers.js';
import { ONE, signQuote } from '../e2e/maker.js';
import { type RestAnswer, RestClient } from '../e2e/rest-client.js';
import { optionOf } from '../e2e/wire-option.js';
import { SeededRandom, seedOf } from '../simulation/seeded-random.js';
import { until } from '../until.js';
import { ServiceProcess } from './service-process.js';

/** From a signal to the end of the process. */
const STOP_MS = 10_000;
const ROUNDS = process.env.QUOTEBOOK_TEST_LONG === undefined ? 2 : 30;
const MAKERS = 3;
const BATCH = 4;
const SNAPSHOT = { snapshot: true };
const random = new SeededRandom(seedOf(t));

const chain = await startLocalChain();
t.teardown(() => chain.stop());
const [pool] = chain.pools;
if (!pool) throw new Error('The local chain lacks pools');
const quoted = pool;

type FeedMessage = Extract<ServerMessageV2, { readonly prevSeq: number }>;

/** A connection that keeps what it is sent until it is closed. */
class Listener {
  readonly messages: ServerMessageV2[] = [];
  readonly closed: Promise<{ readonly code: number; readonly reason: string }>;

  private constructor(readonly socket: WebSocket) {
    socket.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString()) as ServerMessageV2;
      assertDocumentedFrame(message, socket.protocol === '' ? 'plain' : 'v2');
      this.messages.push(message);
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
  }

  /** Authorised, and following every quote. `body`: where to begin. */
  static async open(service: ServiceProcess, protocol: string, body: object): Promise<Listener> {
    const socket = new WebSocket(service.httpUrl.replace('http', 'ws'), protocol === '' ? [] : protocol);
    const listener = new Listener(socket);
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'AUTH', apiKey: service.apiKey, body: null }));
    const filter = { chainId: '421613', taker: '*', ...body };
    socket.send(JSON.stringify({ type: 'FILTER', channel: 'QUOTES', body: filter }));
    await listener.has(2);
    return listener;
  }

  /** Resolves once so many messages have come. */
  async has(count: number): Promise<void> {
    while (this.messages.length < count) await once(this.socket, 'message');
  }

  /** Those with a number, in order. */
  get numbered(): FeedMessage[] {
    return this.messages.filter((message): message is FeedMessage => 'prevSeq' in message);
  }

  /** What the acknowledgement of FILTER said. */
  get epoch(): string {
    const found = this.messages.find((message) => message.type === 'INFO' && message.body !== null);
    if (found?.type !== 'INFO' || found.body === null) throw new Error('nothing was subscribed');
    return found.body.epoch;
  }
}

/** Posts batch after batch until `isOver`; keeps every answer, and counts a broken connection as a failure. */
async function postUntil(service: ServiceProcess, n: number, isOver: () => boolean): Promise<RestAnswer[]> {
  const rest = new RestClient(service.httpUrl, service.apiKey);
  const account = maker(n);
  const answers: RestAnswer[] = [];
  while (!isOver()) {
    const batch = Array.from({ length: BATCH }, () => signQuote(account.privateKey, quoted, { size: ONE / 1000n }));
    answers.push(await rest.post('/quotes', await Promise.all(batch)));
  }
  return answers;
}

async function stopsInTime(t: Test, service: ServiceProcess): Promise<void> {
  const startMs = performance.now();
  t.equal(await service.end('SIGTERM'), 0, 'it exits in order');
  const tookMs = performance.now() - startMs;
  t.ok(tookMs < STOP_MS, `in ${tookMs.toFixed(0)} ms`);
}

await t.test('a stop under load answers all that is under way, and readers go on where it says', async (t) => {
  t.setTimeout(ROUNDS * 30_000 + 60_000);
  const service = await ServiceProcess.prepare(chain, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  const acked = new Set<string>();
  let resume: { readonly epoch: string; readonly fromSeq: number } | null = null;
  let lastSeq = 0;
  for (let round = 0; round < ROUNDS; round++) {
    await service.start();
    const reader = await Listener.open(service, 'quotebook.v2.json', resume ?? SNAPSHOT);
    const plain = await Listener.open(service, '', {});
    let isOver = false;
    const posting = Promise.all(Array.from({ length: MAKERS }, (_, n) => postUntil(service, n, () => isOver)));
    await reader.has(40);
    await pause(random.below(200));
    isOver = true;
    await stopsInTime(t, service);

    const answers = (await posting).flat();
    t.strictSame([...new Set(answers.map(({ status }) => status))], [201], 'every post was answered');
    for (const { body } of answers) for (const { quoteId } of body.created as { quoteId: string }[]) acked.add(quoteId);
    t.same(await plain.closed, { code: 1012, reason: 'service restart' });
    const { code, reason } = await reader.closed;
    const [, seq = ''] = /^service restart, resume from seq (\d+)$/.exec(reason) ?? [];
    t.strictSame([code, seq !== ''], [1012, true], reason);
    t.equal(
      reader.messages.some(({ type }) => type === 'RESYNC'),
      false,
      'it went on where it was',
    );
    for (const message of reader.numbered) {
      t.ok(message.prevSeq <= lastSeq || lastSeq === 0, `${message.seq} follows ${message.prevSeq}, after ${lastSeq}`);
      lastSeq = Math.max(lastSeq, message.seq);
    }
    resume = { epoch: reader.epoch, fromSeq: Number(seq) };
    lastSeq = Number(seq);
  }
  await service.start();
  const last = await Listener.open(service, 'quotebook.v2.json', SNAPSHOT);
  while (!last.messages.some((message) => message.type === 'QUOTES_SNAPSHOT' && !message.more)) {
    await once(last.socket, 'message');
  }
  const pages = last.messages.flatMap((message) => (message.type === 'QUOTES_SNAPSHOT' ? message.body : []));
  const known = new Set<string>(pages.map(({ quoteId }) => quoteId));
  t.ok(acked.size >= ROUNDS * BATCH, `${acked.size} quotes were acknowledged`);
  t.strictSame(
    [...acked].filter((quoteId) => !known.has(quoteId)),
    [],
    'and each of them is there',
  );
  await stopsInTime(t, service);
});

await t.test(
  'a stop tells who waits for the chain how far it has come, and what was sent is not sent again',
  async (t) => {
    const service = await ServiceProcess.prepare(chain, t.testdir());
    t.teardown(() => service.end('SIGKILL'));
    const dev = devClient(chain.rpcUrl, chain.chainId);
    await service.start();
    await dev.setAutomine(false);
    t.teardown(() => dev.setAutomine(true));
    const quote = await signQuote(maker(0).privateKey, quoted, { size: ONE / 1000n });
    const option = { ...optionOf(chain, quoted), strike: 2_900 };
    const before = await sentCount(dev);
    const rest = new RestClient(service.httpUrl, service.apiKey);
    const posts = Promise.all([rest.post('/quotes', [quote]), rest.post('/pools', [option])]);
    await until(async () => (await sentCount(dev)) >= before + 2);
    await stopsInTime(t, service);

    const [published, deployed] = await posts;
    t.match(published, { status: 504, body: { message: 'Publication not confirmed yet', pending: [/^0x/] } });
    const [quoteId] = published.body.pending as readonly string[];
    t.match(deployed, { status: 200, body: { failed: [{ reason: 'Transaction not confirmed yet' }] } });

    await dev.setAutomine(true);
    await dev.mine({ blocks: 1 });
    await service.start();
    const again = new RestClient(service.httpUrl, service.apiKey);
    t.match(await again.post('/quotes', [quote]), { status: 200, body: { exists: [{ quoteId, salt: quote.salt }] } });
    t.match(await again.post('/pools', [option]), { status: 200, body: { existed: [option] } });
    t.equal(await sentCount(dev), before + 2);
  },
);

await t.test('a second signal ends it at once', async (t) => {
  const service = await ServiceProcess.prepare(chain, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  const dev = devClient(chain.rpcUrl, chain.chainId);
  await service.start();
  await dev.setAutomine(false);
  t.teardown(() => dev.setAutomine(true));
  const before = await sentCount(dev);
  const plain = await Listener.open(service, '', {});
  const pending = postUntil(service, 0, () => false).then(
    () => 'ANSWERED',
    () => 'BROKEN',
  );
  await until(async () => (await sentCount(dev)) > before);
  const ended = service.end('SIGTERM');
  await plain.closed;
  process.kill(service.pid ?? 0, 'SIGTERM');
  await pause(limits.sameSignalMs);
  t.ok(service.isRunning, 'what comes together with the first is the same');
  process.kill(service.pid ?? 0, 'SIGTERM');
  t.equal(await ended, 1, 'it is not waited for');
  t.equal(await pending, 'BROKEN');
});

await t.test('a node that takes requests and answers none holds up no stop', async (t) => {
  const proxy = await RpcProxy.open(chain.rpcUrl);
  t.teardown(() => proxy.close());
  const endpoint = { ...chain.profile.settlement, rpcUrls: [proxy.url], wsUrl: null };
  const profile = { ...chain.profile, settlement: endpoint, stream: endpoint };
  const service = await ServiceProcess.prepare({ ...chain, profile }, t.testdir());
  t.teardown(() => service.end('SIGKILL'));
  const hang = async (): Promise<void> => {
    const before = proxy.requests.length;
    proxy.trick = () => 'HANG';
    await until(() => proxy.requests.length > before);
  };
  await service.start();
  await hang();
  await stopsInTime(t, service);

  const unfinished = service.start();
  unfinished.catch(() => undefined);
  await hang();
  await stopsInTime(t, service);
  await t.rejects(unfinished, 'it had not reached its chains yet');
});

function maker(n: number) {
  const account = chain.accounts[1 + n];
  if (account === undefined) throw new Error('The local chain lacks accounts');
  return account;
}

/** How many transactions of the operator the node has, mined or not. */
function sentCount(dev: ReturnType<typeof devClient>): Promise<number> {
  const [operator] = chain.accounts;
  if (operator === undefined) throw new Error('The local chain lacks accounts');
  return dev.getTransactionCount({ address: operator.address, blockTag: 'pending' });
}
