import t from 'tap';
import { GatewayFixture, address, chainId } from './gateway-fixture.js';

const size = '1000000000000000000';
const rfq = { poolAddress: address(0xa1), side: 'ask', chainId, size, taker: address(0xc1) };
const poolKey = {
  base: address(1),
  quote: address(2),
  oracleAdapter: address(3),
  strike: size,
  maturity: 1_709_280_000,
  isCallPool: true,
};
const withPoolKey = (change: object) => ({
  type: 'RFQ',
  body: { side: 'ask', chainId, size, taker: address(0xc1), poolKey: { ...poolKey, ...change } },
});
const filter = (body: unknown) => ({ type: 'FILTER', channel: 'QUOTES', body });

const badMessages: readonly (readonly [what: string, message: unknown, answer: string])[] = [
  ['an empty message', '', 'Message is not valid JSON'],
  ['bad JSON', '{"type":"FILTER",', 'Message is not valid JSON'],
  ['two messages in a frame', '{}{}', 'Message is not valid JSON'],
  ['JSON that is no object', '[1]', 'Message must be a JSON object'],
  ['null', 'null', 'Message must be a JSON object'],
  ['no type', {}, 'Unknown message type: must be AUTH, FILTER, UNSUBSCRIBE or RFQ'],
  ['an unknown type', { type: 'WHAT' }, 'Unknown message type: must be AUTH, FILTER, UNSUBSCRIBE or RFQ'],
  ['a type of another type', { type: ['AUTH'] }, 'Unknown message type: must be AUTH, FILTER, UNSUBSCRIBE or RFQ'],
  [
    'an unknown channel',
    { type: 'FILTER', channel: 'TRADES', body: { chainId } },
    'Invalid FILTER: channel must be equal to one of the allowed values',
  ],
  [
    'no channel',
    { type: 'UNSUBSCRIBE', body: null },
    "Invalid UNSUBSCRIBE: message must have required property 'channel'",
  ],
  ['no body', { type: 'FILTER', channel: 'RFQ' }, "Invalid FILTER: message must have required property 'body'"],
  ['a body that is null', filter(null), 'Invalid FILTER: body must be object'],
  ['no chain', filter({}), "Invalid FILTER: body must have required property 'chainId'"],
  ['a chain as a number', filter({ chainId: 421613 }), 'Invalid FILTER: body.chainId must be string'],
  [
    'a chain that does not exist',
    filter({ chainId: '1' }),
    'Invalid FILTER: body.chainId must match pattern "^42161$|^421613$"',
  ],
  ['an unknown side', filter({ chainId, side: 'buy' }), 'Invalid FILTER: body.side must match pattern "^bid$|^ask$"'],
  [
    'an address that is too short',
    filter({ chainId, poolAddress: '0x12' }),
    'Invalid FILTER: body.poolAddress must match pattern "^0x[a-fA-F0-9]{40}$"',
  ],
  ['a negative size', filter({ chainId, size: '-1' }), 'Invalid FILTER: body.size must match pattern "^[0-9]+$"'],
  [
    'a size of 79 digits',
    filter({ chainId, size: '1'.repeat(79) }),
    'Invalid FILTER: body.size must NOT have more than 78 characters',
  ],
  [
    'a size above 2^256 - 1',
    filter({ chainId, size: '9'.repeat(78) }),
    `Invalid FILTER: body.size must be <= ${2n ** 256n - 1n}`,
  ],
  [
    'an unknown field',
    filter({ chainId, depth: 5 }),
    'Invalid FILTER: body must NOT have additional properties: depth',
  ],
  [
    'a prototype',
    '{"type":"FILTER","channel":"RFQ","body":{"chainId":"421613","__proto__":{}}}',
    'Invalid FILTER: body must NOT have additional properties: __proto__',
  ],
  [
    'a body where none belongs',
    { type: 'UNSUBSCRIBE', channel: 'QUOTES', body: {} },
    'Invalid UNSUBSCRIBE: body must be null',
  ],
  [
    'an RFQ without its pool',
    { type: 'RFQ', body: { chainId } },
    "Invalid RFQ: body must have required property 'poolKey'",
  ],
  [
    'an RFQ with its pool in both forms',
    { type: 'RFQ', body: { ...rfq, poolKey } },
    'Invalid RFQ: body must NOT have additional properties: poolKey',
  ],
  ['an RFQ without a body', { type: 'RFQ' }, "Invalid RFQ: message must have required property 'body'"],
  ['an RFQ for nothing', { type: 'RFQ', body: { ...rfq, size: '0' } }, 'Invalid RFQ: body.size must be > 0'],
  [
    'an RFQ of another chain',
    { type: 'RFQ', body: { ...rfq, chainId: '42161' } },
    'Chain 42161 is not served here, only 421613 is',
  ],
  [
    'an RFQ for every taker',
    { type: 'RFQ', body: { ...rfq, taker: '*' } },
    'Invalid RFQ: body.taker must match pattern "^0x[a-fA-F0-9]{40}$"',
  ],
  [
    'a maturity that is no integer',
    withPoolKey({ maturity: 1.5 }),
    'Invalid RFQ: body.poolKey.maturity must be integer',
  ],
  [
    'a maturity in text above 2^53 - 1',
    withPoolKey({ maturity: String(2n ** 53n) }),
    'Invalid RFQ: body.poolKey.maturity must be integer',
  ],
  [
    'a maturity in text that is no whole number',
    withPoolKey({ maturity: '1709280000.0' }),
    'Invalid RFQ: body.poolKey.maturity must be integer',
  ],
  [
    'a maturity above 2^53 - 1',
    withPoolKey({ maturity: 2 ** 53 }),
    `Invalid RFQ: body.poolKey.maturity must be <= ${Number.MAX_SAFE_INTEGER}`,
  ],
];

for (const [what, message, answer] of badMessages) {
  t.test(`${what} gets an error, and changes nothing`, async (t) => {
    const fixture = new GatewayFixture();
    const socket = fixture.subscribed('QUOTES');
    const topics = [...socket.topics];
    socket.says(message);
    t.same(socket.take(), [{ type: 'ERROR', body: null, message: answer }]);
    t.same([...socket.topics], topics);
    t.same(fixture.log, []);
    t.notOk(socket.closed);
  });
}

t.test('any binary frame gets an error that asks for text', async (t) => {
  const socket = new GatewayFixture().authorized();
  socket.saysBinary(Buffer.from('{"type":"FILTER","channel":"RFQ","body":{"chainId":"421613"}}'));
  t.same(socket.take(), [{ type: 'ERROR', body: null, message: 'Binary messages are not accepted: send JSON text' }]);
  t.equal(socket.topics.size, 0);
});

t.test('the 100th bad message within 10 seconds is answered and closes the socket', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  for (let sent = 1; sent < 100; sent++) socket.says('bad');
  t.notOk(socket.closed);
  socket.says('bad');
  t.equal(socket.received.length, 100);
  t.same(socket.closedWith, { code: 1008, reason: 'Too many bad messages' });
});

t.test('bad messages that are further apart are forgiven', async (t) => {
  const fixture = new GatewayFixture();
  const socket = fixture.authorized();
  for (let sent = 0; sent < 300; sent++) {
    socket.says('bad');
    fixture.clock.advance(102);
  }
  t.notOk(socket.closed, '99 of them fall into any 10 seconds');
});

t.test('guessing keys counts as bad messages', async (t) => {
  const socket = new GatewayFixture({}, { wsBadMessages: 3 }).net.open();
  for (const apiKey of ['a', 'b', 'c']) socket.says({ type: 'AUTH', apiKey, body: null });
  t.match(socket.closedWith, { code: 1008 });
});

t.test('a socket that is closing is not listened to', async (t) => {
  const fixture = new GatewayFixture({}, { wsBadMessages: 1 });
  const socket = fixture.authorized();
  socket.says('bad');
  socket.says({ type: 'FILTER', channel: 'RFQ', body: { chainId } });
  t.equal(socket.received.length, 1);
  t.equal(fixture.topics.size, 0);
});

t.test('too many FILTERs at once are refused until time has passed', async (t) => {
  const fixture = new GatewayFixture({}, { wsSubscribes: 2 });
  const socket = fixture.authorized();
  const message = { type: 'FILTER', channel: 'RFQ', body: { chainId } };
  const answers = () => (socket.take() as { message: string }[]).map(({ message }) => message);
  for (let sent = 0; sent < 3; sent++) socket.says(message);
  t.same(answers().slice(1), ['Subscribed to rfq:421613:*:*:* channel.', 'Too many FILTERs: at most 2 in 10 seconds']);
  fixture.clock.advance(10_000);
  socket.says(message);
  t.same(answers(), ['Subscribed to rfq:421613:*:*:* channel.']);
});
