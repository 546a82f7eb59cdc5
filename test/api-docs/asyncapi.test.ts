import t from 'tap';
import { asyncApi } from '../../src/api-docs/asyncapi.js';
import { socketDocs } from '../../src/api-docs/sockets.js';

interface Documented {
  readonly channels: Readonly<
    Record<string, { readonly messages: Readonly<Record<string, { readonly payload: object }>> }>
  >;
  readonly operations: Readonly<Record<string, { readonly messages: readonly { readonly $ref: string }[] }>>;
}

const channels = socketDocs(
  { wsBookLevels: 100, quotesPerRequest: 10, tradesPerRequest: 10, withdrawalsPerRequest: 10 },
  ['json', 'msgpack'],
  'readable',
);
const document = asyncApi(channels, { version: '1.0.0' }) as Documented;

/** The fields of the messages that one side sends, by the names of the messages. */
function fieldsOf(operation: string): Readonly<Record<string, readonly string[]>> {
  const { messages } = document.operations[operation] ?? { messages: [] };
  return Object.fromEntries(
    messages.map(({ $ref }) => {
      const [, , channel = '', , name = ''] = $ref.split('/');
      const { properties = {} } = (document.channels[channel]?.messages[name]?.payload ?? {}) as {
        properties?: object;
      };
      return [name, Object.keys(properties)];
    }),
  );
}

for (const [name, { fromClient, fromServer }] of Object.entries(channels)) {
  await t.test(`${name}: a message that goes both ways has one form`, (t) => {
    for (const [message, { schema }] of Object.entries(fromClient)) {
      const { schema: answered = schema } = fromServer[message] ?? {};
      t.equal(answered, schema, message);
    }
    t.end();
  });
}

await t.test('a request for quotes is documented as sent and as published', (t) => {
  t.strictSame(fieldsOf('v2FromClient').rfq, ['type', 'body', 'id']);
  t.strictSame(fieldsOf('v2FromServer').rfqTold, ['type', 'key', 'seq', 'prevSeq', 'tsMs', 'cause', 'body', 'terms']);
  t.end();
});
