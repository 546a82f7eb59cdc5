import { once } from 'node:events';
import { Agent, request } from 'node:http';
import fc from 'fast-check';
import t from 'tap';
import { assertDocumentedFrame, assertDocumentedText } from '../e2e/documented-answers.js';
import { Client } from '../net/socket-client.js';
import { hostileInputs, type HostileRequest } from './hostile-inputs.js';
import { attackerAddress, isLong, Siege } from './siege.js';

const REQUESTS = isLong ? 700_000 : 35_000;
const MESSAGES = isLong ? 300_000 : 15_000;
/** Drawn and sent at a time. */
const CHUNK = 500;
/** A socket is closed after so many bad messages. */
const MESSAGES_PER_SOCKET = 100;
const seed = Number(process.env.FUZZ_SEED ?? Date.now() % 2 ** 31);

t.setTimeout(isLong ? 3_600_000 : 300_000);
t.comment(`FUZZ_SEED=${seed}`);

const siege = await Siege.lay(t);
const inputs = await hostileInputs(siege.chain);
const agent = new Agent({ keepAlive: true, maxSockets: 32 });
t.teardown(() => agent.destroy());

/** Resolves to the status, or 0 where the connection was closed without one, as what is no HTTP may be. */
function send({ method, path, body }: HostileRequest): Promise<number> {
  return new Promise((resolve) => {
    const { apiKey, httpUrl } = siege.service;
    const headers = { 'x-apikey': apiKey, ...(body === null ? {} : { 'content-type': 'application/json' }) };
    // Not as part of a URL, which would be put in order before it is sent: `/%2e` is `/` there.
    const sent = request(httpUrl, { method, path, agent, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.once('end', () => {
        const status = response.statusCode ?? 0;
        assertDocumentedText({ method, target: path, status, type: response.headers['content-type'] ?? '', text });
        resolve(status);
      });
    });
    sent.once('error', () => resolve(0));
    sent.end(body ?? undefined);
  });
}

const drawn = function* <Value>(arbitrary: fc.Arbitrary<Value>, count: number): Generator<Value[]> {
  for (let start = 0; start < count; start += CHUNK) {
    yield fc.sample(arbitrary, { numRuns: Math.min(CHUNK, count - start), seed: seed + start });
  }
};

await t.test(`${REQUESTS} hostile requests are refused, and change nothing`, async (t) => {
  const book = await siege.book();
  const counts = new Map<number, number>();
  for (const requests of drawn(inputs.requests, REQUESTS)) {
    const statuses = await Promise.all(requests.map(send));
    const broken = statuses.findIndex((status) => status >= 500 || status === 201);
    if (broken >= 0) t.fail(`${statuses[broken]}: ${JSON.stringify(requests[broken])}`);
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  t.comment(JSON.stringify(Object.fromEntries(counts)));
  t.notOk(counts.has(0), 'each was answered');
  t.ok((counts.get(400) ?? 0) > REQUESTS / 4, 'many of them as bad ones');
  t.equal(await siege.book(), book, 'the book is what it was');
  t.ok(siege.service.isRunning, 'and the service lives');
});

/** Sends them over one socket, unless it is closed before; gives the code it was closed with, or null. */
async function say(messages: readonly string[], from: string): Promise<number | null> {
  const { apiKey, httpUrl } = siege.service;
  const client = await Client.open(httpUrl.replace('http', 'ws'), [], { localAddress: from });
  client.ws.send(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
  await client.has(1);
  for (const message of messages) client.ws.send(message);
  client.ws.ping();
  const ended = await Promise.race([once(client.ws, 'pong').then(() => null), client.closed.then(({ code }) => code)]);
  for (const [text] of client.received) {
    const frame = JSON.parse(text) as { type: string };
    const { type } = frame;
    assertDocumentedFrame(frame, 'plain');
    if (!['INFO', 'ERROR', 'ORDERBOOK_SNAPSHOT'].includes(type)) throw new Error(`An odd answer: ${text}`);
  }
  client.ws.terminate();
  return ended;
}

await t.test(`${MESSAGES} hostile messages are refused, and change nothing`, async (t) => {
  const book = await siege.book();
  const codes = new Set<number | null>();
  let sockets = 0;
  for (const messages of drawn(inputs.messages, MESSAGES)) {
    const parts = Array.from({ length: CHUNK / MESSAGES_PER_SOCKET }, (_, i) =>
      messages.slice(i * MESSAGES_PER_SOCKET, (i + 1) * MESSAGES_PER_SOCKET),
    );
    for (const code of await Promise.all(parts.map((part) => say(part, attackerAddress(sockets++))))) codes.add(code);
  }
  t.strictSame(
    [...codes].filter((code) => code !== null && code !== 1008),
    [],
    'sockets live on, or are closed for the number of bad messages',
  );
  t.equal(await siege.book(), book, 'the book is what it was');
  t.ok(siege.service.isRunning, 'and the service lives');
});

await t.test('memory stays as it is', (t) =>
  siege.staysFlat(t, async () => {
    for (const requests of drawn(inputs.requests, REQUESTS / 5)) await Promise.all(requests.map(send));
  }),
);
