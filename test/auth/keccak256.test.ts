import fc from 'fast-check';
import t from 'tap';
import { type Hex, keccak256 } from 'viem';
import { Keccak256, MAX_MESSAGE_BYTES, toHex } from '../../src/auth/keccak256.js';

const bytesOf = (n: number): Uint8Array => Uint8Array.from({ length: n }, (_, i) => (i * 7 + n) % 256);
const expected = (message: Uint8Array): Hex => keccak256(message);

t.test('a message of any length up to four blocks has the hash that viem gives it', (t) => {
  const keccak = new Keccak256();
  const wrong: number[] = [];
  for (let length = 0; length <= 4 * 136; length++) {
    if (toHex(keccak.of(bytesOf(length))) !== expected(bytesOf(length))) wrong.push(length);
  }
  t.same(wrong, []);
  t.end();
});

t.test('the longest message is hashed, and one byte more is refused', (t) => {
  const keccak = new Keccak256();
  const longest = bytesOf(MAX_MESSAGE_BYTES);
  t.equal(toHex(keccak.of(longest)), expected(longest));
  t.throws(() => keccak.of(new Uint8Array(MAX_MESSAGE_BYTES + 1)), RangeError);
  t.equal(toHex(keccak.of(bytesOf(3))), expected(bytesOf(3)), 'after the long ones, nothing of them is left');
  t.end();
});

t.test('messages that are written in place are hashed as they stand, however they are written over', (t) => {
  const lengths = [32, 66, 135, 136, 137, 160, 256, 272];
  const keccak = new Keccak256();
  const places = lengths.map((length) => keccak.message(length));
  const model = lengths.map((length) => new Uint8Array(length));
  const write = fc.tuple(fc.nat(lengths.length - 1), fc.nat(271), fc.nat(255));
  fc.assert(
    fc.property(fc.array(write, { maxLength: 20, size: 'max' }), (writes) => {
      for (const [which, at, value] of writes) {
        const [place, own] = [places[which], model[which]];
        if (place === undefined || own === undefined) continue;
        place.bytes[at % own.length] = value;
        own[at % own.length] = value;
      }
      return places.every((place, i) => {
        const hash = expected(model[i] ?? new Uint8Array());
        return place.hexHash() === hash && toHex(place.hash()) === hash;
      });
    }),
  );
  t.pass('over random writes');
  t.end();
});

t.test('a hash can be put into another message', (t) => {
  const keccak = new Keccak256();
  const [inner, outer] = [keccak.message(256), keccak.message(66)];
  inner.bytes.set(bytesOf(256));
  outer.bytes.set(bytesOf(34));
  inner.hashInto(outer, 34);
  const innerHash = Buffer.from(expected(bytesOf(256)).slice(2), 'hex');
  t.equal(outer.hexHash(), expected(Buffer.concat([bytesOf(34), innerHash])));
  t.end();
});

t.test('a hash stays what it was when another is made', (t) => {
  const keccak = new Keccak256();
  const message = keccak.message(8);
  const [first, other] = [message.hash(), keccak.of(bytesOf(1))];
  message.bytes[0] = 1;
  message.hash();
  keccak.of(bytesOf(2));
  t.equal(toHex(first), expected(new Uint8Array(8)));
  t.equal(toHex(other), expected(bytesOf(1)));
  t.end();
});

t.test('there is an end to the room for messages', (t) => {
  const keccak = new Keccak256();
  t.throws(() => {
    for (let i = 0; i < 10; i++) keccak.message(10_000);
  }, RangeError);
  t.end();
});

t.test('bytes of any length are written as 0x and two lower-case digits each', async (t) => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200, size: 'max' }), (bytes) => {
      return toHex(bytes) === `0x${Buffer.from(bytes).toString('hex')}`;
    }),
  );
  t.equal(toHex(new Uint8Array(0)), '0x');
  const key = Uint8Array.from({ length: 65 }, (_, i) => 255 - i);
  t.equal(toHex(key), `0x${Buffer.from(key).toString('hex')}`, 'a public key');
});
