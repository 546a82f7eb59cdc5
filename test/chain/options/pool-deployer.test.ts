import { setImmediate as turn } from 'node:timers/promises';
import t from 'tap';
import { arbitrum } from '../../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../../src/chain/options/option-series.js';
import { PoolIndexWait, PoolDeployer } from '../../../src/chain/options/pool-deployer.js';
import { RpcUnreachable } from '../../../src/chain/rpc/rpc-errors.js';
import type { TxOutcome } from '../../../src/chain/wallet/operator.js';
import type { Hex } from '../../../src/engine/quote.js';
import type { OptionTerms } from '../../../src/wire/options.js';
import { ManualClock } from '../../system/manual-clock.js';
import { addressOfStrike, answerAsFactory } from '../factory-answers.js';
import { recordingGasAccount } from '../recording-gas-account.js';
import { MINED, PATIENCE_MS, patientOperator, settled, untilTold } from './patient-operator.js';

const NOW = Date.UTC(2030, 10, 20) / 1000;
const IMPOSSIBLE = 99n;
const EXISTING = 50n;
const DONE = MINED;

function option(strike: bigint, expiration = '29NOV30'): OptionTerms {
  return { base: 'WETH', quote: 'USDC', expiration, strike, type: 'C' };
}

interface Fakes {
  readonly send?: () => Promise<TxOutcome>;
  readonly arrives?: boolean;
  readonly lookUp?: () => Promise<never>;
  readonly now?: number | null;
}

function opened({ send = () => Promise.resolve(DONE), arrives = true, lookUp, now = NOW }: Fakes = {}) {
  const seen = { sent: 0, lookUps: 0 };
  const clock = new ManualClock();
  const deployer = new PoolDeployer(
    patientOperator(clock, () => {
      seen.sent++;
      return send();
    }),
    {
      multicall(calls) {
        seen.lookUps++;
        return lookUp?.() ?? Promise.resolve(calls.map((call) => answerAsFactory(call, [EXISTING], IMPOSSIBLE)));
      },
    },
    arbitrum.contracts.poolFactory.address,
    new OptionSeries(arbitrum),
    { whenKnown: () => Promise.resolve(arrives) },
    () => now,
    4,
  );
  return { seen, clock, deployer };
}

const LATE = { type: 'FAILED', reason: 'Transaction not confirmed yet' } as const;

t.test('a request for a pool that is being deployed joins, and gets EXISTS', async (t) => {
  let mined = (): void => undefined;
  const { seen, deployer } = opened({ send: () => new Promise((resolve) => (mined = () => resolve(DONE))) });
  const asked = [
    deployer.deploy([option(1n)], recordingGasAccount()),
    deployer.deploy([option(1n)], recordingGasAccount()),
  ];
  while (seen.sent === 0) await turn();
  await turn();
  mined();
  const poolAddress = addressOfStrike(1n);
  t.strictSame(await Promise.all(asked), [
    { type: 'ANSWERED', items: [{ type: 'CREATED', poolAddress }] },
    { type: 'ANSWERED', items: [{ type: 'EXISTED', poolAddress }] },
  ]);
  t.equal(seen.sent, 1);
});

t.test('each option fails, exists or is created on its own; one call finds all pools', async (t) => {
  const { seen, deployer } = opened();
  const options = [option(IMPOSSIBLE), option(1n), option(1n, '28NOV30'), option(EXISTING), option(2n)];
  t.strictSame(await deployer.deploy(options, recordingGasAccount()), {
    type: 'ANSWERED',
    items: [
      { type: 'FAILED', reason: 'PoolFactory__OptionStrikeEqualsZero' },
      { type: 'CREATED', poolAddress: addressOfStrike(1n) },
      { type: 'FAILED', reason: '2030-11-28T00:00:00.000Z is not Friday!' },
      { type: 'EXISTED', poolAddress: addressOfStrike(EXISTING) },
      { type: 'CREATED', poolAddress: addressOfStrike(2n) },
    ],
  });
  t.strictSame(seen, { sent: 2, lookUps: 1 });
});

t.test('of many pools a few are under way at once, and each that ends makes room for one', async (t) => {
  const { ends, send } = untilTold<TxOutcome>();
  const { deployer } = opened({ send });
  const strikes = Array.from({ length: 10 }, (_, i) => BigInt(i + 1));
  const answer = deployer.deploy(
    strikes.map((strike) => option(strike)),
    recordingGasAccount(),
  );
  for (let ended = 0; ended < strikes.length; ended++) {
    await settled();
    t.equal(ends.length, Math.min(ended + 4, strikes.length));
    ends[ended]?.(DONE);
  }
  t.match(await answer, { items: strikes.map(() => ({ type: 'CREATED' })) });
});

t.test('a pool that exists existed, whatever its date; only new ones are refused for theirs', async (t) => {
  const { seen, deployer } = opened();
  const past = '03NOV23';
  const options = [option(EXISTING, past), option(EXISTING, '28NOV30'), option(1n, past), option(IMPOSSIBLE, past)];
  const gasAccount = recordingGasAccount();
  const refused = { type: 'FAILED', reason: 'Invalid expiration date: 03NOV23 is in the past' };
  t.strictSame(await deployer.deploy([...options, option(EXISTING, '31FEB27')], gasAccount), {
    type: 'ANSWERED',
    items: [
      { type: 'EXISTED', poolAddress: addressOfStrike(EXISTING) },
      { type: 'EXISTED', poolAddress: addressOfStrike(EXISTING) },
      refused,
      refused,
      { type: 'FAILED', reason: 'Invalid expiration date: 31FEB27' },
    ],
  });
  t.strictSame([seen.sent, gasAccount.taken], [0, [0]]);
});

t.test('a request that joins a deployment shares its failure', async (t) => {
  const failure: TxOutcome = { type: 'FAILED', reason: 'no gas' };
  const { seen, deployer } = opened({ send: () => Promise.resolve(failure) });
  const [first, second] = await Promise.all([
    deployer.deploy([option(1n)], recordingGasAccount()),
    deployer.deploy([option(1n)], recordingGasAccount()),
  ]);
  t.strictSame(first, { type: 'ANSWERED', items: [failure] });
  t.strictSame(second, first);
  t.equal(seen.sent, 1);
  await deployer.deploy([option(1n)], recordingGasAccount());
  t.equal(seen.sent, 2, 'a failure is not kept');
});

t.test("somebody else's deployment may win the race: then the pool existed", async (t) => {
  const name = 'PoolFactory__PoolAlreadyDeployed';
  const { deployer } = opened({ send: () => Promise.resolve({ type: 'REVERTED', name, reason: name }) });
  t.match(await deployer.deploy([option(1n)], recordingGasAccount()), {
    items: [{ type: 'EXISTED', poolAddress: addressOfStrike(1n) }],
  });
});

t.test('any other revert fails the option by its name', async (t) => {
  const name = 'PoolFactory__OptionExpired';
  const { deployer } = opened({ send: () => Promise.resolve({ type: 'REVERTED', name, reason: name }) });
  t.match(await deployer.deploy([option(1n)], recordingGasAccount()), { items: [{ type: 'FAILED', reason: name }] });
});

t.test('a pool that the index does not get in time is not called created', async (t) => {
  const { deployer } = opened({ arrives: false });
  t.match(await deployer.deploy([option(1n)], recordingGasAccount()), {
    items: [{ type: 'FAILED', reason: 'Deployment not confirmed yet' }],
  });
});

t.test('a chain that does not answer, or has not been read yet, is no refusal', async (t) => {
  const down = opened({ lookUp: () => Promise.reject(new RpcUnreachable('x')) });
  t.strictSame(await down.deployer.deploy([option(1n)], recordingGasAccount()), { type: 'CHAIN_UNREACHABLE' });
  const bug = new Error('a bug');
  const broken = opened({ lookUp: () => Promise.reject(bug) });
  await t.rejects(broken.deployer.deploy([option(1n)], recordingGasAccount()), bug);
  const early = opened({ now: null });
  t.strictSame(await early.deployer.deploy([option(1n)], recordingGasAccount()), { type: 'CHAIN_UNREACHABLE' });
  t.strictSame([down.seen.sent, early.seen.sent], [0, 0]);
});

t.test(
  'gas is asked for before anything is sent: for each pool that is missing and that nobody deploys yet',
  async (t) => {
    let mined = (): void => undefined;
    const { seen, deployer } = opened({ send: () => new Promise((resolve) => (mined = () => resolve(DONE))) });
    const first = recordingGasAccount();
    const asked = deployer.deploy([option(1n), option(1n), option(EXISTING), option(IMPOSSIBLE)], first);
    while (seen.sent === 0) await turn();
    const refusal = { type: 'OVER_BUDGET', retryAfterMs: 1 } as const;
    const second = recordingGasAccount(refusal);
    t.strictSame(await deployer.deploy([option(1n), option(2n), option(3n)], second), refusal);
    t.strictSame([first.taken, second.taken, seen.sent], [[1], [2], 1]);
    mined();
    await asked;
  },
);

t.test('a deployment that takes too long is not sent again, however often it is asked for', async (t) => {
  const { ends, send } = untilTold<TxOutcome>();
  const { seen, clock, deployer } = opened({ send });
  for (const transactions of [1, 0, 0]) {
    const gasAccount = recordingGasAccount();
    const asked = deployer.deploy([option(1n)], gasAccount);
    await settled();
    clock.advance(PATIENCE_MS);
    t.strictSame(await asked, { type: 'ANSWERED', items: [LATE] });
    t.strictSame(gasAccount.taken, [transactions]);
  }
  t.strictSame([seen.sent, ends.length, clock.pending], [1, 1, 0]);
});

t.test('a late request has a full deadline of its own, and gets the outcome', async (t) => {
  const { ends, send } = untilTold<TxOutcome>();
  const { clock, deployer } = opened({ send });
  const first = deployer.deploy([option(1n)], recordingGasAccount());
  await settled();
  clock.advance(PATIENCE_MS - 1);
  const second = deployer.deploy([option(1n)], recordingGasAccount());
  await settled();
  clock.advance(PATIENCE_MS - 1);
  t.match(await first, { items: [LATE] });
  ends[0]?.(DONE);
  t.match(await second, { items: [{ type: 'EXISTED', poolAddress: addressOfStrike(1n) }] });
});

t.test('one request waits once for the same option repeated, and sends it once', async (t) => {
  const { send } = untilTold<TxOutcome>();
  const { seen, clock, deployer } = opened({ send });
  const gasAccount = recordingGasAccount();
  const asked = deployer.deploy(
    Array.from({ length: 12 }, () => option(1n)),
    gasAccount,
  );
  await settled();
  clock.advance(PATIENCE_MS);
  t.match(await asked, { items: Array.from({ length: 12 }, () => LATE) });
  t.strictSame([seen.sent, gasAccount.taken], [1, [1]]);
});

t.test('the same option repeated in one request is created once', async (t) => {
  const { deployer } = opened();
  const poolAddress = addressOfStrike(1n);
  t.match(await deployer.deploy([option(1n), option(1n)], recordingGasAccount()), {
    items: [
      { type: 'CREATED', poolAddress },
      { type: 'EXISTED', poolAddress },
    ],
  });
});

t.test('a deployment that ended late is forgotten: what failed may be sent again', async (t) => {
  const { ends, send } = untilTold<TxOutcome>();
  const { seen, clock, deployer } = opened({ send });
  const first = deployer.deploy([option(1n)], recordingGasAccount());
  await settled();
  clock.advance(PATIENCE_MS);
  await first;
  ends[0]?.({ type: 'FAILED', reason: 'The service is stopping' });
  await settled();
  const gasAccount = recordingGasAccount();
  const second = deployer.deploy([option(1n)], gasAccount);
  await settled();
  ends[1]?.(DONE);
  t.match(await second, { items: [{ type: 'CREATED' }] });
  t.strictSame([seen.sent, gasAccount.taken], [2, [1]]);
});

t.test('what was under way when gas was taken is not sent anew when it fails before its turn', async (t) => {
  const { ends, send } = untilTold<TxOutcome>();
  const { seen, deployer } = opened({ send });
  const first = deployer.deploy([option(1n)], recordingGasAccount());
  await settled();
  const gasAccount = recordingGasAccount();
  const second = deployer.deploy(
    [2n, 3n, 4n, 5n, 1n].map((strike) => option(strike)),
    gasAccount,
  );
  await settled();
  const failure: TxOutcome = { type: 'FAILED', reason: 'no gas' };
  ends[0]?.(failure);
  await first;
  for (const end of ends.slice(1)) end(DONE);
  const created = { type: 'CREATED' };
  t.match(await second, { items: [created, created, created, created, failure] });
  t.strictSame([seen.sent, gasAccount.taken], [5, [4]]);
});

t.test('who waits for the pools of others does not hold up its own', async (t) => {
  const { ends, send } = untilTold<TxOutcome>();
  const { seen, clock, deployer } = opened({ send });
  const others = [1n, 2n, 3n, 4n].map((strike) => option(strike));
  const first = deployer.deploy(others, recordingGasAccount());
  await settled();
  const second = deployer.deploy([...others, option(5n)], recordingGasAccount());
  await settled();
  t.equal(seen.sent, 5);
  ends[4]?.(DONE);
  clock.advance(PATIENCE_MS);
  t.match(await second, { items: [LATE, LATE, LATE, LATE, { type: 'CREATED' }] });
  await first;
});

const A: Hex = '0xa';
const B: Hex = '0xb';

function openedPools(durable: Promise<void> | null = null) {
  const known = new Set<Hex>();
  const clock = new ManualClock();
  const pools = { knows: (address: Hex) => known.has(address), whenDurable: () => durable };
  return { known, clock, arrivals: new PoolIndexWait(pools, clock, 1000) };
}

t.test('a pool that is known needs no waiting', async (t) => {
  const { known, clock, arrivals } = openedPools();
  known.add(A);
  t.equal(await arrivals.whenKnown(A), true);
  t.equal(clock.pending, 0);
});

t.test('everyone who waits for a pool hears of it, and nobody else', async (t) => {
  const { known, clock, arrivals } = openedPools();
  const waiting = Promise.all([arrivals.whenKnown(A), arrivals.whenKnown(A)]);
  const other = arrivals.whenKnown(B);
  known.add(A);
  arrivals.arrived(A);
  t.strictSame(await waiting, [true, true]);
  t.equal(clock.pending, 1, 'timers of those who have heard are gone');
  clock.advance(1000);
  t.equal(await other, false);
});

t.test('the wait ends at its deadline', async (t) => {
  const { clock, arrivals } = openedPools();
  const waiting = arrivals.whenKnown(A);
  clock.advance(1000);
  t.equal(await waiting, false);
  arrivals.arrived(A);
  t.equal(clock.pending, 0);
});

t.test('what is known counts once it is durable', async (t) => {
  let commit: () => void = () => undefined;
  const { known, arrivals } = openedPools(new Promise((resolve) => (commit = resolve)));
  known.add(A);
  let told = false;
  const waiting = arrivals.whenKnown(A).then(() => (told = true));
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(told, false);
  commit();
  t.equal(await waiting, true);
});
