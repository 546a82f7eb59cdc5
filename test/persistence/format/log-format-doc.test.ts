import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { decode } from '@msgpack/msgpack';
import t from 'tap';
import { getAddress } from 'viem/utils';
import { type Frame, FrameType, readFrame } from '../../../src/persistence/format/frame.js';
import { readDocument } from '../../app/read-document.js';
import { GOLDEN } from '../golden-log.js';

/**
 * A reader that follows docs/reference/log-format.md alone for records and snapshots, held against the program's reader:
 * the page is all that the author of another reader has.
 */
const page = readDocument('docs/reference/log-format.md');

/** A value's name; or an array, where `...` stands for any number of its one element. */
type Shape = string | readonly Shape[];
const shapeOf = (text: string): Shape => JSON.parse(text.replace(/\.\.\.|\w+/g, '"$&"')) as Shape;
const shapes = new Map(
  [...page.matchAll(/^ {4}(\w+) +(\[.*\])/gm)].map(([, name = '', text = '']) => [name, shapeOf(text)]),
);
const rows = [...page.matchAll(/^\| (\d+) \| `([A-Z_]+)` \| (.*)\|$/gm)].map(([, kind, type = '', fields = '']) => ({
  kind: Number(kind),
  type,
  fields: shapeOf(`[${fields}]`) as readonly Shape[],
}));
const events = rows.findIndex(({ type }) => type === 'QUOTE_POSTED');
const kinds = { command: rows.slice(0, events), event: rows.slice(events) };
const versions = new Map([...page.matchAll(/(\d) with (\w+)/g)].map(([, version, what]) => [what, version]));

interface DumpedRecord {
  readonly command: { readonly type: string };
  readonly events: readonly { readonly type: string }[];
}

/** What the page says of the versions, by what is in the record. */
function versionOf({ command, events }: DumpedRecord): string {
  const types = [command, ...events].map(({ type }) => type);
  const what = [
    'message' in command && 'message',
    ['AUTHORIZE_KEY', 'SET_TIMER', 'SET_FILL_LIMIT'].includes(command.type) && 'protections',
    ('terms' in command || command.type === 'CANCEL_RFQ') && 'terms',
    types.some((type) => /WITHDRAW|RESTORE/.test(type) && type !== 'POOL_WITHDRAWN') && 'withdrawals',
    ('trade' in command || 'undoesTrades' in command) && 'trades',
    'early' in command && 'early',
    command.type,
  ].find((each) => each !== false && versions.has(each));
  return (what === undefined ? '1' : versions.get(String(what))) ?? '';
}

/** A field that a command has in newer versions alone, behind the others. */
const LAST_FIELDS: Readonly<Record<string, Shape>> = {
  ENTER_QUOTE: 'early',
  FILL_QUOTE: 'trade',
  REWIND_SETTLEMENT: 'undoesTrades',
  PUBLISH_RFQ: 'terms',
  RFQ_PUBLISHED: 'terms',
  WITHDRAW_QUOTES: 'message',
  RESTORE_QUOTES: 'message',
};
const numbersOf = (field: string): Map<number, string> => {
  const text = new RegExp(`\`${field}\` is ([^.]*)\\.`).exec(page)?.[1] ?? '';
  return new Map([...text.matchAll(/(\d+) for (\w+)/g)].map(([, number, name = '']) => [Number(number), name]));
};
const names = new Map(['chain', 'why', 'by', 'status', 'timer'].map((field) => [field, numbersOf(field)]));

const AMOUNTS = ['price', 'size', 'fillableSize', 'strike', 'fee', 'nonce', 'contracts', 'filledSize'];
const NO_BLOCK = ['floor', 'touchedBlock', 'readBlock'];
const plain = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
const hex = (bytes: Uint8Array): `0x${string}` => `0x${Buffer.from(bytes).toString('hex')}`;

/** The values of a record or of a row, each as text. */
class PageReader {
  readonly #shown: Record<string, string[][]> = { pool: [], quote: [] };

  values(shape: Shape, value: unknown): string[] {
    if (typeof shape !== 'string') return this.#array(shape, value);
    const shown = this.#shown[shape];
    if (shown !== undefined && typeof value === 'number') return shown[value] ?? assert.fail(`no ${shape} ${value}`);
    if (!Array.isArray(value)) return [leaf(shape, value)];
    const values =
      shape === 'command' || shape === 'event' ? this.#kind(shape, value) : this.#array(named(shape), value);
    shown?.push(values);
    return values;
  }

  #array(shape: Shape, value: unknown): string[] {
    if (value === null) return [''];
    assert.ok(Array.isArray(value) && typeof shape !== 'string');
    if (shape[1] !== '...') {
      assert.equal(value.length, shape.length);
      return value.flatMap((item, place) => this.values(shape[place] ?? '', item));
    }
    return value.length === 0 ? [''] : value.flatMap((item) => this.values(shape[0] ?? '', item));
  }

  #kind(of: 'command' | 'event', [kind, ...values]: unknown[]): string[] {
    const row = kinds[of].find((row) => row.kind === kind) ?? assert.fail(`no ${of} ${String(kind)}`);
    const before = (named(of) as readonly Shape[]).slice(1, -1);
    const shape = [...before, ...row.fields];
    const last = LAST_FIELDS[row.type];
    if (values.length > shape.length && last !== undefined) shape.push(last);
    return [row.type, ...this.#array(shape, values)];
  }
}

function named(name: string): Shape {
  return shapes.get(name) ?? assert.fail(`the page has no ${name}`);
}

function leaf(name: string, value: unknown): string {
  if (value === null) return name === 'taker' ? `0x${'0'.repeat(40)}` : NO_BLOCK.includes(name) ? '-1' : '';
  if (!(value instanceof Uint8Array)) return names.get(name)?.get(value as number) ?? plain(value);
  if (AMOUNTS.includes(name)) return value.length === 0 ? '0' : String(BigInt(hex(value)));
  return ['base', 'quote', 'oracleAdapter'].includes(name) ? getAddress(hex(value)) : hex(value);
}

/** Of what the program read, in the same order. */
function valuesOf(value: unknown): string[] {
  if (value === null || (Array.isArray(value) && value.length === 0)) return [''];
  if (typeof value !== 'object') return [plain(value)];
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) => {
    // The order of an event is the program's own: what the event says of it stands beside it.
    if (name === 'order') return valuesOf((inner as { quote: unknown }).quote);
    if (name === 'trade') return valuesOf(tradeByPage(inner as object));
    return name === 'side' ? [String(inner === 'bid')] : valuesOf(inner);
  });
}

/** The program has what an event says besides the terms behind them, the page before. */
function tradeByPage(trade: object): unknown {
  if (!('blockHash' in trade)) return trade;
  const { quoteId, size, blockHash, ...terms } = trade as Record<string, unknown>;
  return { quoteId, size, blockHash, ...terms };
}

/** Of a snapshot, with the version of their chunks. */
const PARTS: readonly (readonly [string, number])[] = [
  ['chains', 1],
  ['pools', 1],
  ['orders', 1],
  ['withdrawals', 2],
  ['nonces', 2],
  ['rfqs', 3],
  ['authorizations', 4],
  ['fillLimits', 4],
];

function framesIn(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let frame = readFrame(bytes, 0); typeof frame !== 'string'; frame = readFrame(bytes, frame.end)) {
    frames.push(frame);
  }
  return frames;
}

const isOf = (type: FrameType) => (frame: Frame) => frame.type === type;

for (const format of readdirSync(GOLDEN)) {
  const directory = new URL(`${format}/`, GOLDEN);
  const read = (name: string): Buffer => readFileSync(new URL(name, directory));
  const filesOf = (kind: string): string[] => readdirSync(directory).filter((name) => name.endsWith(kind));
  const segments = filesOf('.log').flatMap((name) => framesIn(read(name)));

  t.test(`records of format ${format} say by the page what the program reads of them`, async (t) => {
    const records = segments.filter(isOf(FrameType.record)).map(({ payload }) => {
      return new PageReader().values(named('record'), decode(payload));
    });
    const lines = String(read('records.jsonl')).trimEnd().split('\n');
    const expected = lines.map((line) => {
      const record = JSON.parse(line) as DumpedRecord;
      return [versionOf(record), ...valuesOf(record)];
    });
    t.strictSame(records, expected);
  });

  t.test(`snapshots of format ${format} have by the page the hashes that their log tells`, async (t) => {
    const told = segments.filter(isOf(FrameType.snapshot)).map(({ payload }) => decode(payload));
    const found = filesOf('.snap').map((name) => {
      const bytes = read(name);
      const frames = framesIn(bytes);
      const lines = frames.filter(isOf(FrameType.chunk)).flatMap(({ payload }) => {
        const [version, part, rows] = decode(payload) as [number, number, unknown[]];
        const [name = '', wanted] = PARTS[part] ?? [];
        assert.equal(version, wanted);
        // Requests for quotes are in neither hash.
        if (name === 'rfqs') return [];
        const shape = named(name);
        return rows.map((row) => new PageReader().values(shape, row).join());
      });
      const [head, end] = [decode(frames[0]?.payload ?? Buffer.of()), frames.at(-1)?.payload];
      const stateHash = createHash('sha256')
        .update(['', ...lines].join('\n'))
        .digest('hex');
      return [(head as unknown[])[3], bytes.length, end?.toString('hex'), stateHash];
    });
    t.strictSame(found, told);
  });
}
