import { strict as assert } from 'node:assert';
import fc from 'fast-check';
import t from 'tap';
import type { Engine } from '../../src/engine/engine.js';
import type { Hex } from '../../src/engine/quote.js';
import type { EngineState } from '../../src/engine/state-rows.js';
import { naiveSum } from './naive-sum.js';
import { CommandMaker, type Step, steps } from './random-commands.js';
import { newEngine, START } from './samples.js';

const RUNS = 300;

/** When somebody asks for the sum, and how many orders somebody prepares it with before. */
const asking = fc.record({ every: fc.integer({ min: 1, max: 12 }), prepare: fc.nat(6) });

/** Runs steps on a new engine, a restart giving the state to another one. */
function run(all: readonly Step[], after: (engine: Engine, step: number) => void): Engine {
  let engine = newEngine();
  const maker = new CommandMaker();
  let tsMs = START * 1000;
  all.forEach((step, number) => {
    if (step.kind === 'restart') {
      const state = engine.exportState();
      engine = newEngine();
      engine.importState(state);
    } else {
      if (step.kind === 'pass') tsMs += step.ms;
      engine.apply(maker.make(step, engine), { index: engine.index + 1, tsMs });
    }
    after(engine, number);
  });
  return engine;
}

/** Of the same state in an engine that never summed anything. */
function sumFromScratch(state: EngineState): string {
  const engine = newEngine();
  engine.importState(state);
  return engine.stateSum();
}

t.test('whatever happened, the sum is that of the whole state, whenever it was asked for before', async () => {
  const property = fc.property(steps, asking, (all, { every, prepare }) => {
    const engine = run(all, (now, step) => {
      if (step % 3 === 0) now.prepareSum(prepare);
      if (step % every === 0) assert.equal(now.stateSum(), naiveSum(now.exportState()));
    });
    assert.equal(engine.stateSum(), naiveSum(engine.exportState()));
    assert.equal(sumFromScratch(engine.exportState()), engine.stateSum());
  });
  fc.assert(property, { numRuns: RUNS });
});

t.test('preparing the sum a few orders at a time comes to an end, and to the same sum', async (t) => {
  const engine = run(fc.sample(steps, { numRuns: 3, seed: 9 }).flat(), () => undefined);
  const orderCount = engine.exportState().orders.length;
  t.ok(orderCount > 2, `${orderCount} orders`);
  let turns = 1;
  while (!engine.prepareSum(1)) turns += 1;
  t.equal(turns, orderCount);
  t.equal(engine.stateSum(), naiveSum(engine.exportState()));
  t.equal(engine.prepareSum(0), true);
});

const hash = (digit: string): `0x${string}` => `0x${digit.repeat(64)}`;
const account = (digit: string): `0x${string}` => `0x${digit.repeat(40)}`;
const DEPLOYED = [START - 50, 9, hash('9'), 4] as const;
const POOL_ROW: EngineState['pools'][number] = [
  account('1'),
  account('2'),
  account('3'),
  account('4'),
  (1n << 200n) + 5n,
  START + 1000,
  true,
  DEPLOYED,
];
const CHAIN: EngineState['stream'] = [
  10,
  [12, hash('c'), null],
  [
    [11, hash('b')],
    [12, hash('c')],
  ],
];
const ORDER: EngineState['orders'][number] = [
  0,
  hash('5'),
  account('6'),
  account('7'),
  10n ** 17n,
  2n ** 255n,
  true,
  START + 500,
  2 ** 40 + 3,
  hash('8'),
  hash('9'),
  27,
  START - 20,
  11,
  hash('a'),
  2,
  2n ** 130n,
  8,
  12,
  12,
];

type Change = (state: EngineState) => EngineState;

/** A value that is not the one that was there, of its kind. */
function other(value: unknown): unknown {
  if (typeof value === 'bigint') return value + 1n;
  if (typeof value === 'number') return value + 1;
  if (typeof value === 'boolean') return !value;
  const text = String(value);
  return text.slice(0, -1) + (text.endsWith('1') ? '2' : '1');
}

function rowWith<Row>(row: Row, place: number, value: unknown): Row {
  return Object.assign([...(row as readonly unknown[])], { [place]: value }) as Row;
}

/** Id, time, block and place in it, what is fillable, why not, and the blocks that said so. */
const SUMMED_FIELDS = [1, 12, 13, 15, 16, 17, 18, 19];

t.test(
  'the sum changes with every field of a pool and a chain, and all that an order is besides what its id stands for',
  async (t) => {
    const engine = newEngine();
    const [order, pool, chain] = [ORDER, POOL_ROW, CHAIN];
    const state: EngineState = {
      counters: [0, 0, START * 1000],
      stream: chain,
      settlement: chain,
      pools: [pool],
      orders: [order],
      withdrawals: [[hash('d'), hash('e').slice(0, 42) as Hex, START + 9]],
      nonces: [[hash('e').slice(0, 42) as Hex, 2n ** 200n, START + 8]],
      rfqs: [],
      authorizations: [[hash('e').slice(0, 42) as Hex, 'key', START + 9, 5, 0]],
      fillLimits: [],
    };
    engine.importState(state);
    const sum = engine.stateSum();
    t.equal(sum, naiveSum(state));
    const changes: [string, Change][] = [
      ...SUMMED_FIELDS.map((place): [string, Change] => [
        `order ${place}`,
        // Less of it fillable, not more than its size.
        (before) => ({ ...before, orders: [rowWith(order, place, place === 16 ? 1n : other(order[place]))] }),
      ]),
      ...pool
        .slice(0, 7)
        .map((value, place): [string, Change] => [
          `pool ${place}`,
          (before) => ({ ...before, pools: [rowWith(pool, place, other(value))] }),
        ]),
      ...DEPLOYED.map((value, place): [string, Change] => [
        `deployment ${place}`,
        (before) => ({ ...before, pools: [rowWith(pool, 7, rowWith(DEPLOYED, place, other(value)))] }),
      ]),
      ['no deployment', (before) => ({ ...before, pools: [rowWith(pool, 7, null)] })],
      ['floor', (before) => ({ ...before, stream: rowWith(chain, 0, 9) })],
      ['position', (before) => ({ ...before, stream: rowWith(chain, 1, [12, hash('c'), 3]) })],
      ['trail', (before) => ({ ...before, settlement: rowWith(chain, 2, [[11, hash('b')]]) })],
      ['no withdrawal', (before) => ({ ...before, withdrawals: [] })],
      ['no nonce', (before) => ({ ...before, nonces: [] })],
      ...[0, 1, 2].flatMap((place): [string, Change][] => [
        [
          `withdrawal ${place}`,
          (before) => ({
            ...before,
            withdrawals: before.withdrawals.map((row) => rowWith(row, place, other(row[place]))),
          }),
        ],
        [
          `nonce ${place}`,
          (before) => ({ ...before, nonces: before.nonces.map((row) => rowWith(row, place, other(row[place]))) }),
        ],
      ]),
      ['no order', (before) => ({ ...before, orders: [] })],
    ];
    const sums = changes.map(([, change]) => sumFromScratch(change(state)));
    t.equal(new Set([...sums, sum]).size, changes.length + 1, changes.map(([name]) => name).join(', '));
  },
);
