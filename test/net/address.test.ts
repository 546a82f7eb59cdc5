import { isIPv6 } from 'node:net';
import fc from 'fast-check';
import t from 'tap';
import { addressText, networkOf, plainAddress } from '../../src/net/address.js';

const bytes = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');

t.test('IPv4 is written in decimal', async (t) => {
  t.equal(addressText(bytes('7f000001')), '127.0.0.1');
  t.equal(addressText(bytes('ffffffff')), '255.255.255.255');
});

t.test('IPv6 is written as RFC 5952 recommends', async (t) => {
  for (const [hex, text] of [
    ['0000 0000 0000 0000 0000 0000 0000 0000', '::'],
    ['0000 0000 0000 0000 0000 0000 0000 0001', '::1'],
    ['2001 0db8 0000 0000 0000 0000 0000 0001', '2001:db8::1'],
    ['2001 0db8 0000 0001 0001 0001 0001 0001', '2001:db8:0:1:1:1:1:1'],
    ['2001 0000 0000 0001 0000 0000 0000 0001', '2001:0:0:1::1'],
    ['2001 0db8 0000 0000 0001 0000 0000 0001', '2001:db8::1:0:0:1'],
    ['fe80 0000 0000 0000 0000 0000 0000 0000', 'fe80::'],
    ['0001 0002 0003 0004 0005 0006 0007 abcd', '1:2:3:4:5:6:7:abcd'],
  ] as const) {
    t.equal(addressText(bytes(hex)), text);
  }
});

t.test('IPv4 seen through IPv6 is written as IPv4', async (t) => {
  t.equal(addressText(bytes('0000 0000 0000 0000 0000 ffff 7f00 0001')), '127.0.0.1');
  t.equal(plainAddress('::ffff:127.0.0.1'), '127.0.0.1');
  t.equal(plainAddress('::FFFF:10.0.0.1'), '10.0.0.1');
});

t.test('any other text stays as it is', async (t) => {
  for (const text of ['127.0.0.1', '::1', '::ffff:1', 'fe80::1%eth0', '']) t.equal(plainAddress(text), text);
});

t.test('a peer that is gone has no address', async (t) => {
  t.equal(addressText(new Uint8Array(0)), '');
});

t.test('every IPv6 address keeps its value', async (t) => {
  const group = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff }));
  fc.assert(
    fc.property(fc.array(group, { minLength: 8, maxLength: 8 }), (groups) => {
      fc.pre(groups.slice(0, 5).some((g) => g !== 0));
      const text = addressText(Uint8Array.from(groups.flatMap((g) => [g >> 8, g & 0xff])));
      const [left = '', right] = text.split('::');
      const parts = (side: string): number[] => (side === '' ? [] : side.split(':').map((part) => parseInt(part, 16)));
      const read = right === undefined ? parts(left) : [...parts(left), ...zeros(left, right), ...parts(right)];
      function zeros(a: string, b: string): number[] {
        return new Array<number>(8 - parts(a).length - parts(b).length).fill(0);
      }
      t.strictSame([isIPv6(text), ...read], [true, ...groups]);
    }),
  );
});

t.test('an IPv6 address is one of its network of 64 bits', async (t) => {
  t.equal(networkOf('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2');
  t.equal(networkOf('2001:db8:1:2::9'), '2001:db8:1:2');
  t.equal(networkOf('2001:db8::1'), '2001:db8:0:0');
  t.equal(networkOf('2001::5:6:7:8:9'), '2001:0:0:5');
  t.equal(networkOf('::1'), '0:0:0:0');
  t.equal(networkOf('192.0.2.1'), '192.0.2.1');
});
