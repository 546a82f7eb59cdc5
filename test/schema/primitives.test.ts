import t from 'tap';
import Type, { type TSchema } from 'typebox';
import { compile } from '../../src/schema/check.js';
import * as primitives from '../../src/schema/primitives.js';

const MAX_UINT256 = String(2n ** 256n - 1n);
const hex = (digits: number) => `0x${'aF'.repeat(digits / 2)}`;

type Name = Exclude<keyof typeof primitives, 'closed' | 'onChain' | 'text'>;

/** Of each primitive: values that it takes, and values just beside them that it does not. */
const edges: Readonly<Record<Name, readonly [good: readonly unknown[], bad: readonly unknown[]]>> = {
  ChainId: [
    ['42161', '421613'],
    ['421614', '142161', '4216130', '1421613', '', 42161],
  ],
  Side: [
    ['bid', 'ask'],
    ['abid', 'bids', 'mask', 'asks', 'BID', ''],
  ],
  Address: [[hex(40)], [hex(38), hex(42), `a${hex(40)}`, `0X${hex(40).slice(2)}`, hex(40).replace('a', 'g')]],
  Hash: [[hex(64)], [hex(62), hex(66), `a${hex(64)}`, hex(64).replace('a', 'g')]],
  Uint256: [
    ['0', '007', MAX_UINT256],
    [String(2n ** 256n), '0'.repeat(79), '', '-1', '1.0', '1 ', ' 1', '0x1', 1],
  ],
  SafeUint: [
    [0, 2 ** 53 - 1],
    [-1, 2 ** 53, 0.5, '1'],
  ],
  UnixSeconds: [
    [0, 2 ** 53 - 1],
    [-1, 2 ** 53, 0.5, '1'],
  ],
  UnixSecondsText: [
    ['0', '007', String(2n ** 53n - 1n)],
    [String(2n ** 53n), '0'.repeat(17), '', '-1', '1.0', '1e3', ' 1', 1],
  ],
  Uint8: [
    [0, 27, 255],
    [-1, 256, 0.5],
  ],
  DecimalText: [
    ['1', '1.', '0.5', '01.50', `0.${'0'.repeat(17)}1`],
    ['0', '0.0', `0.${'0'.repeat(18)}1`, '.5', '-1', '1e3', '1,5', MAX_UINT256, ' 1', '1 ', '', 1],
  ],
  DecimalNumber: [
    [1, 0.5, 1e-18, 1e21],
    [0, -1, 1e-19, 1e60, '1', Infinity],
  ],
  OptionType: [
    ['C', 'P'],
    ['c', 'CC', 'PP', 'CP', ''],
  ],
  Direction: [
    ['buy', 'sell'],
    ['abuy', 'buys', 'asell', 'sells', ''],
  ],
  Expiration: [
    ['03NOV23', '03nov23'],
    ['3NOV23', '103NOV23', '03NOV2023', '03-NOV-23', ''],
  ],
};

t.test('each primitive takes what lies on its edges, and nothing beside them', async (t) => {
  for (const [name, [good, bad]] of Object.entries(edges)) {
    const check = compile(primitives[name as Name] as TSchema, 5);
    for (const value of good) t.ok(check(value).ok, `${name}: ${String(value)}`);
    for (const value of bad) {
      const result = check(value);
      t.ok(!result.ok && result.errors.length > 0, `${name}: not ${String(value)}, and why not`);
    }
  }
});

t.test('a closed object has just its fields', async (t) => {
  const check = compile(primitives.closed({ a: primitives.Side }), 5);
  t.ok(check({ a: 'ask' }).ok);
  for (const value of [{}, { a: 'ask', b: 'ask' }, { b: 'ask' }]) t.notOk(check(value).ok, JSON.stringify(value));
});

t.test(
  'only a chain besides the protocol’s two has a pattern of its own, wherever a schema names chains',
  async (t) => {
    const { ChainId, closed, onChain } = primitives;
    const schema = closed({
      one: ChainId,
      other: Type.Optional(ChainId),
      many: Type.Array(Type.Union([closed({ chain: ChainId }), Type.Null()])),
      amount: primitives.Uint256,
    });
    for (const known of ['42161', '421613']) t.equal(onChain(schema, known), schema);
    const of = (chain: string, amount = '1') => ({ one: chain, other: chain, many: [{ chain }, null], amount });
    for (const chain of ['1', '4216', '421614']) {
      const check = compile(onChain(schema, chain), 1);
      t.ok(check(of(chain)).ok, chain);
      t.ok(check({ one: chain, many: [], amount: '1' }).ok, 'what is optional stays so');
      t.notOk(check(of(chain, MAX_UINT256.replace('1', '9'))).ok, 'and keywords stay');
      const message = `must match pattern "^${chain}$"`;
      for (const other of ['42161', '421613', `${chain}0`])
        t.match(check(of(other)), { ok: false, errors: [{ message }] });
    }
    t.ok(compile(schema, 1)(of('42161')).ok, 'the schema itself stays as it was');
  },
);
