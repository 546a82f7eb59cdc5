import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import t, { type Test } from 'tap';
import { ResponseTooLarge, postJson } from '../../../src/chain/rpc/http-transport.js';
import { systemClock } from '../../../src/system/clock.js';
import { ManualClock } from '../../system/manual-clock.js';

const LIMITS = { timeoutMs: 10_000, maxAnswerBytes: 1_000, maxAnswerParts: 100 };

/** A server that answers everything so, and how many connections it has seen. */
async function serve(t: Test, answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => answer(response));
  });
  const seen = { connections: 0, requests: 0 };
  server.on('connection', () => (seen.connections += 1));
  server.on('request', () => (seen.requests += 1));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

const post = (url: string, limits = LIMITS) => postJson(url, '{}', limits, systemClock);

t.test('requests that follow on each other share a connection', async (t) => {
  const { url, seen } = await serve(t, (response) => response.writeHead(429, { 'retry-after': '7' }).end('busy'));
  for (let n = 0; n < 5; n++) t.strictSame(await post(url), { status: 429, retryAfter: '7', text: 'busy' });
  t.strictSame(seen, { connections: 1, requests: 5 });
});

t.test('a compressed answer is read, and its length is what it is unpacked', async (t) => {
  const packed =
    (text: string, coding = 'gzip') =>
    (response: ServerResponse) =>
      void response.writeHead(200, { 'content-encoding': coding }).end(gzipSync(text));
  for (const coding of ['gzip', 'GZIP']) {
    const short = await serve(t, packed('{"result":"0x1"}', coding));
    t.equal((await post(short.url)).text, '{"result":"0x1"}', coding);
  }
  const bomb = await serve(t, packed('0'.repeat(1_000_000)));
  await t.rejects(post(bomb.url), ResponseTooLarge);
  const damaged = await serve(t, (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('plain'));
  await t.rejects(post(damaged.url), { code: 'Z_DATA_ERROR' });
});

t.test('an answer of more small parts than are read is rejected, however short it is', async (t) => {
  const listOf = (part: string, count: number) => `[${Array<string>(count).fill(part).join(',')}]`;
  for (const part of ['{}', '[]', '0', '""', '{"":0}']) {
    const list = listOf(part, LIMITS.maxAnswerParts + 1);
    t.ok(list.length < LIMITS.maxAnswerBytes);
    const { url } = await serve(t, (response) => response.end(list));
    await t.rejects(post(url), ResponseTooLarge, part);
  }
  const list = listOf('0', LIMITS.maxAnswerParts);
  const { url } = await serve(t, (response) => response.end(list));
  t.equal((await post(url)).text, list);
});

t.test('an answer that ends too early is rejected', async (t) => {
  const { url } = await serve(t, (response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{"resu', () => response.destroy());
  });
  await t.rejects(post(url), { code: 'ECONNRESET' });
});

t.test('so is one that changes to another protocol, which no time limit would end', { timeout: 5_000 }, async (t) => {
  const upgrade = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n';
  const { url } = await serve(t, (response) => response.socket?.write(upgrade));
  await t.rejects(post(url), { message: 'The connection ended without an answer' });
});

t.test('an answer that never ends is given up when its time is over', async (t) => {
  const clock = new ManualClock();
  let begun = (): void => undefined;
  const hasBegun = new Promise<void>((resolve) => (begun = resolve));
  const { url } = await serve(t, (response) => response.writeHead(200).write('{"resu', begun));
  const answer = t.rejects(postJson(url, '{}', LIMITS, clock), { message: /time for an answer|aborted/ });
  await hasBegun;
  clock.advance(LIMITS.timeoutMs);
  await answer;
  t.equal(clock.pending, 0);
});
