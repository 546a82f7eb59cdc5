import { decode } from '@msgpack/msgpack';
import t from 'tap';
import { MsgpackError, MsgpackReader } from '../../../src/persistence/codec/msgpack-reader.js';
import { MsgpackWriter } from '../../../src/persistence/codec/msgpack-writer.js';
import { GrowingBuffer } from '../../../src/persistence/disk/buffer.js';

function written(write: (out: MsgpackWriter) => void): Buffer {
  const out = new GrowingBuffer(16);
  write(new MsgpackWriter(out));
  return Buffer.from(out.view());
}

function reading(bytes: Buffer): MsgpackReader {
  const input = new MsgpackReader();
  input.begin(bytes);
  return input;
}

/** On both sides of each place where a head becomes longer. */
const LENGTHS = [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536, 70_000];

t.test('a text of any length is read back, here and by any other reader', async (t) => {
  for (const length of LENGTHS) {
    const text = 'x'.repeat(length);
    const bytes = written((out) => out.text(text));
    t.ok(reading(bytes).text() === text, `${length}`);
    t.ok(decode(bytes) === text, `${length}`);
  }
});

t.test('an array of any length is read back, here and by any other reader', async (t) => {
  for (const length of LENGTHS) {
    const bytes = written((out) => {
      out.array(length);
      for (let item = 0; item < length; item += 1) out.nil();
    });
    t.equal(reading(bytes).array(), length);
    t.ok(reading(bytes).isArray());
    t.equal((decode(bytes) as unknown[]).length, length);
  }
});

/** Each is msgpack, but there is a shorter one of the same value. */
const LONGER: readonly (readonly [string, (input: MsgpackReader) => unknown])[] = [
  ['cc7f', (input) => input.uint()],
  ['cd00ff', (input) => input.uint()],
  ['ce0000ffff', (input) => input.uint()],
  ['cf00000000ffffffff', (input) => input.uint()],
  ['d91f', (input) => input.text()],
  ['da00ff', (input) => input.text()],
  ['db0000ffff', (input) => input.text()],
  ['dc000f', (input) => input.array()],
  ['dd0000ffff', (input) => input.array()],
  ['c4020001', (input) => input.amount()],
  ['c40100', (input) => input.amount()],
];

t.test('a value is taken in its shortest encoding alone', async (t) => {
  for (const [hex, read] of LONGER) {
    const bytes = Buffer.concat([Buffer.from(hex, 'hex'), Buffer.alloc(1 << 16, 'x')]);
    t.throws(() => read(reading(bytes)), MsgpackError, hex);
  }
});

t.test('integers end where they are no longer exact', async (t) => {
  const bytes = written((out) => out.uint(Number.MAX_SAFE_INTEGER));
  t.equal(reading(bytes).uint(), Number.MAX_SAFE_INTEGER);
  t.throws(() => reading(Buffer.from('cf0020000000000000', 'hex')).uint(), MsgpackError);
  t.throws(() => written((out) => out.uint(2 ** 53)), RangeError);
});

t.test('an amount has at most 255 bytes, so that none is written that cannot be read', async (t) => {
  const largest = 2n ** 2040n - 1n;
  t.equal(reading(written((out) => out.amount(largest))).amount(), largest);
  t.throws(() => written((out) => out.amount(largest + 1n)), RangeError);
  const longer = Buffer.concat([Buffer.from('c50100', 'hex'), Buffer.alloc(256, 1)]);
  t.throws(() => reading(longer).amount(), MsgpackError);
});
