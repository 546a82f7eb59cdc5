import { runInNewContext } from 'node:vm';
import t from 'tap';
import { concat, keccak256, numberToHex } from 'viem';
import { limits } from '../../src/config/limits.js';
import { type Fields, type Kind, MESSAGE_TYPES, MESSAGES, QUOTE } from '../../src/wire/feed-layout.js';
import {
  type PriceLevelsJson,
  RESYNC_REASONS,
  ServerMessageV2,
  type ServerMessageV2 as Message,
} from '../../src/wire/feed-messages.js';
import { type OrderbookQuote, QUOTE_ERRORS } from '../../src/wire/orderbook.js';
import { compile } from '../../src/wire/validation.js';
import { MessageReader, parseFrame, type RawMessage } from '../../src/ws/messages.js';
import { agreedProtocol, SUBPROTOCOLS } from '../../src/ws/session.js';
import { readDocument } from '../app/read-document.js';
import { decodeMessage } from './decode-message.js';
import { levelsHash, quotesHash } from './model-reader.js';

const text = readDocument('docs/reference/api.md');
const [, feedText = ''] = text.split('\n## The feed: subprotocols\n');

/** Examples of the document, in their order. */
function examples<T>(fence: string): T[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${fence}\\n(.*?)^\`\`\`$`, 'gms'))].map(
    ([, example = '']) => JSON.parse(example) as T,
  );
}

const fromServer = examples<Message>('json v2 server');
const fromClient = examples<RawMessage>('json v2 client');

function example<T extends Message['type']>(type: T): Extract<Message, { type: T }> {
  const found = fromServer.find((message): message is Extract<Message, { type: T }> => message.type === type);
  if (found === undefined) throw new Error(`${type} has no example`);
  return found;
}

t.test('every message of the feed has an example that is one', async (t) => {
  const check = compile(ServerMessageV2, 3);
  for (const message of fromServer) t.match(check(message), { ok: true }, message.type);
  t.strictSame([...new Set(fromServer.map(({ type }) => type))].sort(), [...MESSAGE_TYPES].sort());
});

t.test('what a client sends in the examples is understood', async (t) => {
  const reader = new MessageReader('421613', limits.wsBookLevels);
  t.ok(fromClient.length >= 3);
  for (const message of fromClient) {
    const { raw } = parseFrame(Buffer.from(JSON.stringify(message)), false, false);
    t.match(raw.ok && reader.read(raw.value, false), { ok: true }, JSON.stringify(message));
  }
  const orderbook = fromClient.find(({ channel }) => channel === 'ORDERBOOK');
  t.match(reader.read(orderbook ?? {}, true), { ok: true }, 'ORDERBOOK on a plain connection, too');
  const numbered = fromClient.find(({ body }) => JSON.stringify(body).includes('fromSeq'));
  t.match(reader.read(numbered ?? {}, true), { ok: false }, 'but no numbers');
});

t.test('a quote that was checked fails for a reason that there is, and has all hashes or none', async (t) => {
  for (const { reasons, domainSeparator, digest } of example('QUOTES_CHECKED').body.quotes) {
    const isKnown = (reason: string): boolean => reason.includes(' ') || QUOTE_ERRORS.some((name) => name === reason);
    t.strictSame(
      reasons.filter((reason) => !isKnown(reason)),
      [],
    );
    t.equal(domainSeparator === null, digest === null);
  }
});

t.test('each event has its own type, and each number follows the previous one', async (t) => {
  for (const message of fromServer) {
    if ('prevSeq' in message) t.ok(message.prevSeq < message.seq, `${message.type} ${message.seq}`);
  }
});

t.test('hashes are as they are said to be computed: by the words, and by the code', async (t) => {
  const snapshot = example('QUOTES_SNAPSHOT');
  const { body: levels, levelsHash: ofLevels } = example('ORDERBOOK_SNAPSHOT');
  t.equal(snapshot.hash, quotesHash(snapshot.body));
  t.equal(ofLevels, levelsHash(levels.bids, levels.asks));
  t.strictSame(example('HEARTBEAT').books, [{ key: snapshot.key, hash: snapshot.hash }]);
  t.ok(feedText.includes(`has the book hash \`${snapshot.hash}\``));
  t.ok(feedText.includes(`have the levels hash \`${ofLevels}\``));

  const [, code = ''] = /^```js\n(const word.*?)^```$/ms.exec(feedText) ?? [];
  const computed = runInNewContext(`${code}({ bookHash, levelsHash })`, { concat, keccak256, numberToHex }) as {
    bookHash(quotes: readonly OrderbookQuote[]): string;
    levelsHash(levels: PriceLevelsJson): string;
  };
  t.equal(computed.bookHash(snapshot.body), snapshot.hash);
  t.equal(computed.levelsHash(levels), ofLevels);
});

function kindText(kind: Kind): string {
  if (typeof kind === 'string') return kind;
  if (kind === QUOTE) return 'quote';
  if ('nullable' in kind) return `${kindText(kind.nullable)}?`;
  if ('optional' in kind) return `${kindText(kind.optional)}~`;
  if ('list' in kind) return `{${kindText(kind.list)}}*`;
  return `[${fieldsText(kind)}]`;
}

function fieldsText({ fields }: Fields): string {
  return fields.map(([name, kind]) => `${name} ${kindText(kind)}`).join(', ');
}

t.test('the layout of MessagePack is the one that is written', async (t) => {
  const rows = [...feedText.matchAll(/^\| (\d+) \| `(\w+)` \| `(.*)` \|$/gm)].map((row) => row.slice(1, 4));
  t.strictSame(
    rows,
    MESSAGE_TYPES.map((type, number) => [String(number), type, fieldsText(MESSAGES[type])]),
  );
  t.ok(feedText.includes(`A quote is \`[${fieldsText(QUOTE)}]\`.`));
  const [, hex = ''] = /^```text msgpack heartbeat\n(.*?)^```$/ms.exec(feedText) ?? [];
  t.strictSame(decodeMessage(Buffer.from(hex.replaceAll('\n', ''), 'hex')), example('HEARTBEAT'));
});

t.test('subprotocols and reasons are named', async (t) => {
  for (const name of Object.keys(SUBPROTOCOLS)) {
    t.ok(feedText.includes(`\`${name}\``), name);
    t.equal(agreedProtocol(`other, ${name}`), name);
  }
  for (const reason of RESYNC_REASONS) t.ok(feedText.includes(`| \`${reason}\` |`), reason);
});

t.test('the numbers in the text are the limits in force', async (t) => {
  const number = (n: number) => n.toLocaleString('en-US');
  const kib = limits.wsSlowBytes / 1024;
  const mib = limits.wsBufferedBytes / 2 ** 20;
  for (const said of [
    `Every ${limits.wsHeartbeatMs / 1000} seconds from AUTH on`,
    `| ${number(limits.wsBookLevels)}, which is also the most. |`,
    `A filter that matches more than ${number(limits.wsSnapshotQuotes)} quotes is refused`,
    `in pages of ${number(limits.eventsPerPage)} events.`,
    `if ORDERBOOK missed more than ${number(limits.eventsPerBookPage)} events`,
    `A snapshot of more than ${number(limits.eventsSnapshotQuotes)} quotes`,
    `A reader that leaves more than ${kib} KiB unread`,
    `| more than ${kib} KiB |`,
    `If more levels changed meanwhile than twice the depth and ${number(limits.changedLevels)},`,
    `of at most twice the depth and ${number(limits.changedLevels)} levels.`,
    `| more than ${mib} MiB |`,
    `The reader has ${limits.drainMs / 1000} seconds to read`,
    `| connections | ${number(limits.wsConnections)} in all (\`wsConnections\`) |`,
    `| connections of one address (IPv6: of one /64) | ${limits.wsConnectionsPerAddress} (\`wsConnectionsPerAddress\`) |`,
    `| FILTERs | ${limits.wsSubscribes} in ${limits.wsSubscribeWindowMs / 1000} seconds |`,
    `| calls without an answer | ${limits.wsWaitingCalls} | ERROR |`,
    `Up to ${limits.wsWaitingCalls} may wait for their answers.`,
    `A message has at most ${limits.wsMessageBytes / 1024} KiB`,
    `| RFQs that are not on disk yet | ${limits.wsWaitingRfqs} |`,
  ]) {
    t.ok(feedText.includes(said), said);
  }
});
