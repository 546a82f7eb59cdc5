import t from 'tap';
import type { SocketCallOutcome } from '../../src/ws/ports.js';
import { chainId, GatewayFixture, goodKey, settled } from './gateway-fixture.js';

/** A socket of the feed whose calls are answered by hand; `calls`: those that were made, oldest first. */
function calling() {
  const fixture = new GatewayFixture();
  const calls: {
    readonly name: string;
    readonly body: unknown;
    resolve(outcome: SocketCallOutcome): void;
    reject(fault: Error): void;
  }[] = [];
  fixture.carryOutCall = (_, { name, body }) =>
    new Promise((resolve, reject) => calls.push({ name, body, resolve, reject }));
  return { fixture, calls, socket: fixture.authorized(goodKey, 'quotebook.v2.json') };
}

const posted = { created: [], failed: [], exists: [] };
const cancelled = { success: [], failed: [], omitted: [] };

t.test('each call is carried out as what it says, and answered with its id', async (t) => {
  const { calls, socket } = calling();
  socket.says({ type: 'POST_QUOTES', body: [1], id: 'a' });
  socket.says({ type: 'POST_QUOTES', body: [2], dryRun: true, id: 'b' });
  socket.says({ type: 'POST_QUOTES', body: [3], dryRun: false });
  socket.says({ type: 'CANCEL_QUOTES', body: { quoteIds: [] }, id: 'd' });
  t.match(calls, [
    { name: 'POST_QUOTES', body: [1] },
    { name: 'DRY_RUN', body: [2] },
    { name: 'POST_QUOTES', body: [3] },
  ]);
  t.equal(calls.length, 3, 'as many as may wait');
  t.match(socket.take(), [
    { type: 'ERROR', code: 'rate_limited', message: 'Too many calls: 3 of them wait for their answers', id: 'd' },
  ]);
  calls[0]?.resolve({ ok: true, body: posted });
  await settled();
  socket.says({ type: 'CANCEL_QUOTES', body: { quoteIds: [] }, id: 'd' });
  calls[1]?.resolve({ ok: true, body: { quotes: [] } });
  calls[2]?.resolve({ ok: true, body: posted });
  calls[3]?.resolve({ ok: true, body: cancelled });
  await settled();
  t.strictSame(socket.take(), [
    { type: 'QUOTES_POSTED', body: posted, id: 'a' },
    { type: 'QUOTES_CHECKED', body: { quotes: [] }, id: 'b' },
    { type: 'QUOTES_POSTED', body: posted },
    { type: 'QUOTES_CANCELLED', body: cancelled, id: 'd' },
  ]);
});

t.test('answers come in the order of the calls, whichever is done first; other messages do not wait', async (t) => {
  const { calls, socket } = calling();
  for (const id of ['a', 'b', 'c']) socket.says({ type: 'POST_QUOTES', body: [], id });
  calls[2]?.resolve({ ok: true, body: posted });
  calls[1]?.reject(new Error('a fault'));
  socket.says({ type: 'FILTER', channel: 'RFQ', body: { chainId }, id: 'filter' });
  await settled();
  t.match(socket.take(), [{ type: 'INFO', id: 'filter' }]);
  calls[0]?.resolve({ ok: false, code: 'busy', message: 'BUSY', errors: null, details: null });
  await settled();
  t.match(socket.take(), [
    { type: 'ERROR', body: { retryAfterMs: 1_000 }, code: 'busy', message: 'BUSY', id: 'a' },
    { type: 'ERROR', body: null, code: 'internal_error', message: 'Internal server error', id: 'b' },
    { type: 'QUOTES_POSTED', id: 'c' },
  ]);
});

t.test('a fault is reported, and what waits behind it is answered', async (t) => {
  const { fixture, calls, socket } = calling();
  socket.says({ type: 'CANCEL_QUOTES', body: {}, id: 'a' });
  calls[0]?.reject(new Error('a fault'));
  await settled();
  t.match(fixture.faults, [{ message: 'a fault' }]);
  t.match(socket.take(), [{ type: 'ERROR', code: 'internal_error', id: 'a' }]);
});

t.test('an error names the place in the body, and has what HTTP says besides', async (t) => {
  const { calls, socket } = calling();
  socket.says({ type: 'POST_QUOTES', body: [{}], id: 'a' });
  socket.says({ type: 'POST_QUOTES', body: [], id: 'b' });
  const error = {
    keyword: 'required',
    instancePath: '/0',
    schemaPath: '#/items/required',
    params: { missingProperty: 'price' },
    message: "must have required property 'price'",
  };
  const code = 'invalid_parameter';
  calls[0]?.resolve({ ok: false, code, message: error.message, errors: [error], details: null });
  const details = { pending: ['0x01'] };
  const message = 'Publication not confirmed yet';
  calls[1]?.resolve({ ok: false, code: 'publication_not_confirmed', message, errors: null, details });
  await settled();
  t.strictSame(socket.take(), [
    {
      type: 'ERROR',
      body: null,
      message: "Invalid POST_QUOTES: body.0 must have required property 'price'",
      code,
      id: 'a',
    },
    { type: 'ERROR', body: details, message, code: 'publication_not_confirmed', id: 'b' },
  ]);
});

t.test('an error in the body keeps the code of HTTP', async (t) => {
  const { calls, socket } = calling();
  socket.says({ type: 'POST_QUOTES', body: [], id: 'a' });
  const error = { keyword: 'const', instancePath: '/0/chainId', schemaPath: '', params: {}, message: 'must be 421613' };
  const common = { ok: false, message: error.message, details: null } as const;
  calls[0]?.resolve({ ...common, code: 'unsupported_chain', errors: [error] });
  await settled();
  const message = 'Invalid POST_QUOTES: body.0.chainId must be 421613';
  t.match(socket.take(), [{ type: 'ERROR', code: 'unsupported_chain', message, id: 'a' }]);
});

t.test('an error says when to try again, beside what HTTP says', async (t) => {
  const { calls, socket } = calling();
  for (const id of ['a', 'b']) socket.says({ type: 'POST_QUOTES', body: [], id });
  const common = { ok: false, message: 'RATELIMITED', errors: null, retryAfterMs: 86_000_000 } as const;
  calls[0]?.resolve({ ...common, code: 'rate_limited', details: null });
  calls[1]?.resolve({ ...common, code: 'spend_cap_reached', details: { pending: ['0x01'] } });
  await settled();
  t.match(socket.take(), [
    { code: 'rate_limited', body: { retryAfterMs: 86_000_000 } },
    { code: 'spend_cap_reached', body: { retryAfterMs: 86_000_000, pending: ['0x01'] } },
  ]);
});

t.test('a call whose socket has closed is carried out, and answered to nobody', async (t) => {
  const { fixture, calls, socket } = calling();
  socket.says({ type: 'POST_QUOTES', body: [] });
  fixture.net.drop(socket);
  calls[0]?.resolve({ ok: true, body: posted });
  await settled();
  t.strictSame([socket.take(), fixture.faults], [[], []]);
});

t.test('plain sockets have no calls', async (t) => {
  const { fixture, calls } = calling();
  const socket = fixture.authorized();
  for (const type of ['POST_QUOTES', 'CANCEL_QUOTES']) socket.says({ type, body: [] });
  const message = 'Unknown message type: must be AUTH, FILTER, UNSUBSCRIBE or RFQ';
  const error = { type: 'ERROR', body: null, message };
  t.strictSame(socket.take(), [error, error]);
  t.strictSame(calls, []);
});

for (const message of [{ type: 'POST_QUOTES' }, { type: 'POST_QUOTES', body: [], dryRun: 'yes' }]) {
  t.test(`${JSON.stringify(message)} is refused, and not carried out`, async (t) => {
    const { calls, socket } = calling();
    socket.says(message);
    t.match(socket.take(), [{ type: 'ERROR', code: 'invalid_parameter', message: /^Invalid POST_QUOTES: / }]);
    t.strictSame(calls, []);
  });
}
