import t from 'tap';
import { socketErrors } from '../../src/api-docs/errors.js';
import { ErrorV2 } from '../../src/wire/feed-messages.js';
import { compile } from '../../src/wire/validation.js';
import { isMessageOf } from '../api-docs/message-of.js';
import { address, chainId, GatewayFixture, goodKey, settled } from './gateway-fixture.js';

const v2 = 'quotebook.v2.json';
const rfq = { poolAddress: address(0xa1), side: 'ask', chainId, size: '1', taker: address(0xc1) };
const poolKey = {
  base: address(1),
  quote: address(2),
  oracleAdapter: address(3),
  strike: '1',
  maturity: 1_709_280_000,
  isCallPool: true,
};
const byKey = { poolKey, side: 'ask', chainId, size: '1', taker: address(0xc1) };
const cover = { chainId, poolAddress: address(0xa1), side: 'ask', size: '1' };

/** Messages of an authorised socket, with the code of their refusal. */
const refusals: readonly (readonly [code: string, message: object])[] = [
  ['api_key_unknown', { type: 'AUTH', apiKey: '', body: null }],
  ['api_key_unknown', { type: 'AUTH', apiKey: 'nobody', body: null }],
  ['unknown_message_type', { type: 'HELLO' }],
  ['invalid_parameter', { type: 'FILTER', channel: 'QUOTES', body: { chainId, side: 'buy' } }],
  ['invalid_parameter', { type: 'FILTER', channel: 'QUOTES', body: { chainId, fromSeq: 1 } }],
  ['invalid_parameter', { type: 'FILTER', channel: 'COVER', body: { ...cover, size: '0' } }],
  ['unsupported_chain', { type: 'FILTER', channel: 'QUOTES', body: { chainId: '42161' } }],
  ['unsupported_chain', { type: 'RFQ', body: { ...rfq, chainId: '42161' } }],
  ['invalid_pool_key', { type: 'RFQ', body: byKey }],
  ['storage_full', { type: 'RFQ', body: rfq }],
];

function fixture(): GatewayFixture {
  return new GatewayFixture({ poolAddressOf: async () => 'IMPOSSIBLE', publish: async () => 'STORAGE_FULL' });
}

for (const [code, message] of refusals) {
  t.test(`${code}: ${JSON.stringify(message)} is answered with it and the id`, async (t) => {
    const [socket, plain] = [fixture().authorized(goodKey, v2), fixture().authorized()];
    socket.says({ ...message, id: 'seven' });
    await settled();
    const [answer, ...others] = socket.take() as { message: string }[];
    const body = code === 'storage_full' ? { retryAfterMs: 1_000 } : null;
    t.match(answer, { type: 'ERROR', body, code, id: 'seven' });
    t.strictSame(others, []);
    t.match(compile(ErrorV2, 1)(answer), { ok: true });
    const rows = socketErrors.filter((error) => isMessageOf(error, answer?.message ?? ''));
    t.ok(
      rows.some((row) => row.code === code),
      `${answer?.message} has that code in the table`,
    );
    if ('channel' in message && 'body' in message && 'fromSeq' in (message.body as object)) return;
    if ('channel' in message && message.channel === 'COVER') return;
    if (code === 'unknown_message_type') return;
    plain.says(message);
    await settled();
    t.strictSame(plain.take(), [{ type: 'ERROR', body: null, message: answer?.message }], 'plain clients: the text');
  });
}

t.test('before AUTH and over the quota, the code and the id are there, too', async (t) => {
  const gateway = new GatewayFixture();
  const stranger = gateway.net.open(v2);
  stranger.says({ type: 'UNSUBSCRIBE', channel: 'RFQ', id: '1' });
  t.match(stranger.take(), [{ type: 'ERROR', message: 'Not Authorized', code: 'not_authenticated', id: '1' }]);
  const socket = gateway.authorized(goodKey, v2);
  gateway.quotas.messages = 0;
  socket.says({ type: 'UNSUBSCRIBE', channel: 'RFQ', id: '2' });
  t.match(socket.take(), [{ type: 'ERROR', message: 'RATELIMITED', code: 'rate_limited', id: '2' }]);
});

t.test('an error that passes says in how many milliseconds, on v2 sockets alone', async (t) => {
  const gateway = new GatewayFixture();
  gateway.quotas.waitMs = 350.2;
  const [socket, plain] = [gateway.authorized(goodKey, v2), gateway.authorized()];
  gateway.quotas.messages = 0;
  for (const each of [socket, plain]) each.says({ type: 'UNSUBSCRIBE', channel: 'RFQ' });
  const error = { type: 'ERROR', message: 'RATELIMITED' };
  t.strictSame(socket.take(), [{ ...error, body: { retryAfterMs: 351 }, code: 'rate_limited' }]);
  t.strictSame(plain.take(), [{ ...error, body: null }]);
});

t.test('what cannot be read has a code and no id', async (t) => {
  const socket = new GatewayFixture().authorized(goodKey, v2);
  for (const text of ['{"id":"1",', '[]']) socket.says(text);
  const answers = socket.take() as object[];
  t.equal(answers.length, 2);
  for (const answer of answers) {
    t.match(answer, { type: 'ERROR', code: 'malformed_message' });
    t.notOk('id' in answer);
  }
});

t.test('good messages are answered with their id', async (t) => {
  const gateway = new GatewayFixture();
  const socket = gateway.net.open(v2);
  socket.says({ type: 'AUTH', apiKey: goodKey, body: null, id: 'auth' });
  socket.says({ type: 'FILTER', channel: 'QUOTES', body: { chainId }, id: 'quotes' });
  socket.says({ type: 'FILTER', channel: 'TICKER', body: { chainId }, id: 'ticker' });
  socket.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', id: 'leave' });
  socket.says({ type: 'RFQ', body: rfq, id: 'rfq' });
  socket.says({ type: 'UNSUBSCRIBE', channel: 'TICKER' });
  await settled();
  const answers = (socket.take() as { type: string; id?: string }[]).filter(({ type }) => type === 'INFO');
  t.strictSame(
    answers.map(({ id }) => id ?? null),
    ['auth', 'quotes', 'ticker', 'leave', null, 'rfq'],
  );
});

for (const id of ['', 'x'.repeat(65), 7, null, {}]) {
  t.test(`${JSON.stringify(id).slice(0, 20)} is no id`, async (t) => {
    const socket = new GatewayFixture().authorized(goodKey, v2);
    socket.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', id });
    t.match(socket.take(), [{ type: 'ERROR', message: /^Invalid message: id must /, code: 'invalid_parameter' }]);
  });
}

t.test('to the plain protocol an id is a field that it does not know', async (t) => {
  const socket = new GatewayFixture().authorized();
  socket.says({ type: 'UNSUBSCRIBE', channel: 'QUOTES', id: '1' });
  t.strictSame(socket.take(), [
    { type: 'ERROR', body: null, message: 'Invalid UNSUBSCRIBE: message must NOT have additional properties: id' },
  ]);
});
