import { encode, ExtData } from '@msgpack/msgpack';
import t from 'tap';
import { checkAnnounced } from '../../src/client/announced-elements.js';
import { decodeFrame } from '../../src/client/decode.js';

/** Arrays in arrays, each of so many elements by its head, and nothing in the innermost. */
function nested(depth: number, elements: number): Uint8Array {
  const frame = Buffer.alloc(5 * depth);
  for (let level = 0; level < depth; level++) {
    frame.writeUInt8(0xdd, 5 * level);
    frame.writeUInt32BE(elements, 5 * level + 1);
  }
  return frame;
}

t.test('a frame of a hundred bytes that announces gigabytes is refused, and costs nothing', (t) => {
  for (const [depth, elements] of [
    [20, 30_000_000],
    [1_000, 100_000],
    [10_000, 40_000],
  ] as const) {
    const frame = Uint8Array.from(nested(depth, elements)).buffer;
    const before = process.memoryUsage().rss;
    t.throws(() => decodeFrame(frame), RangeError, `${depth} arrays of ${elements}`);
    t.ok(process.memoryUsage().rss - before < 100e6, 'no room was made for them');
  }
  t.end();
});

t.test('maps announce keys and values', (t) => {
  t.throws(() => checkAnnounced(Uint8Array.of(0xde, 0, 2, 1, 1, 1)), RangeError);
  t.doesNotThrow(() => checkAnnounced(Uint8Array.of(0xde, 0, 2, 1, 1, 1, 1)));
  t.throws(() => checkAnnounced(Uint8Array.of(0x81, 1)), RangeError);
  t.throws(() => checkAnnounced(Uint8Array.of(0xdf, 0xff, 0xff, 0xff, 0xff)), RangeError);
  t.end();
});

t.test('whatever a frame may hold is no more than it announces', (t) => {
  const sizes = [0, 1, 15, 16, 31, 32, 255, 256, 65_535, 65_536];
  const values: unknown[] = [
    null,
    true,
    ...[0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32, -1, -32, -33, -128, -129, -40_000, -(2 ** 33), 0.5],
    ...sizes.flatMap((size) => [
      'x'.repeat(size),
      // Bytes which would announce the most, were they taken for heads.
      new Uint8Array(size).fill(0xdd),
      Array.from({ length: size }, () => 0),
      Object.fromEntries(Array.from({ length: size }, (_, key) => [`${key}`, key])),
      new ExtData(7, new Uint8Array(size).fill(0xdd)),
    ]),
    ...[2, 4, 8].map((size) => new ExtData(7, new Uint8Array(size).fill(0xdd))),
  ];
  for (const value of values) {
    for (const frame of [encode(value), encode([value, [value], 1]), encode(0.5, { forceFloat32: true })]) {
      t.doesNotThrow(() => checkAnnounced(frame));
      // Within another's memory, as a frame may be.
      const shared = new Uint8Array(frame.length + 3);
      shared.set(frame, 3);
      t.doesNotThrow(() => checkAnnounced(shared.subarray(3)));
    }
  }
  t.throws(() => checkAnnounced(new Uint8Array(0)), RangeError);
  t.end();
});
