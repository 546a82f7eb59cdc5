import type { Goal, Row } from './scenario.js';

/** Does its work and returns how many operations that were. */
export type Work = () => number | Promise<number>;

/** One of the programs compared. */
export interface Contestant {
  readonly name: string;
  /** Prepares a run, not timed; the work that it returns is. */
  prepare(): Work | Promise<Work>;
}

export interface ContestOptions {
  /** Rounds that count; in each, every contestant runs once, and who begins moves on by one. */
  readonly rounds: number;
  /** Rounds before those, for the compiler to settle. */
  readonly warmUps: number;
  /** `cpu`: operations per CPU second of this process, all its threads; `wall`: per second that passed. */
  readonly clock: 'cpu' | 'wall';
}

/** Operations per second in each round. */
export type Rates = readonly number[];

/** Runs the contestants against each other in this process. The rates are in the order of the contestants. */
export function contest(contestants: readonly Contestant[], options: ContestOptions): Promise<Rates[]> {
  return inTurn(contestants, options, async (contestant) => timed(await contestant.prepare(), options.clock));
}

/** Has each contestant measured once a round by `measure`, however that is done. */
export async function inTurn<C>(
  contestants: readonly C[],
  { rounds, warmUps }: Pick<ContestOptions, 'rounds' | 'warmUps'>,
  measure: (contestant: C) => Promise<number>,
): Promise<Rates[]> {
  const rates = contestants.map((): number[] => []);
  for (let round = 0; round < warmUps + rounds; round++) {
    for (let turn = 0; turn < contestants.length; turn++) {
      const at = (turn + round) % contestants.length;
      const contestant = contestants[at];
      if (contestant === undefined) continue;
      const rate = await measure(contestant);
      if (round >= warmUps) rates[at]?.push(rate);
    }
  }
  return rates;
}

async function timed(work: Work, clock: 'cpu' | 'wall'): Promise<number> {
  const cpu = process.cpuUsage();
  const start = performance.now();
  const done = work();
  const operations = typeof done === 'number' ? done : await done;
  const wallMs = performance.now() - start;
  const { user, system } = process.cpuUsage(cpu);
  return operations / (clock === 'cpu' ? (user + system) / 1e6 : wallMs / 1e3);
}

export interface RowRates {
  readonly ours: Rates;
  /** The same code in the same rounds; null where it did not run twice. */
  readonly again: Rates | null;
  readonly theirs: Rates;
}

/** A row from rates, operations per second or per CPU second. */
export function rowOf(label: string, rates: RowRates, baselineName: string, goal: Goal | null, unit: string): Row {
  return {
    label,
    ours: { value: median(rates.ours), unit },
    baseline: { value: median(rates.theirs), unit, name: baselineName },
    ratio: median(quotients(rates.ours, rates.theirs)),
    goal,
    noise: rates.again && spread(rates.ours, rates.again),
  };
}

/** As rowOf, in microseconds an operation: a ratio of 2 takes twice as long as the baseline. */
export function durationRow(label: string, rates: RowRates, baselineName: string, goal: Goal | null): Row {
  return {
    label,
    ours: { value: 1e6 / median(rates.ours), unit: 'us' },
    baseline: { value: 1e6 / median(rates.theirs), unit: 'us', name: baselineName },
    ratio: median(quotients(rates.theirs, rates.ours)),
    goal,
    noise: rates.again && spread(rates.ours, rates.again),
  };
}

/** How far the same code lies from itself: the median over rounds of the distance, as a share. */
export function spread(rates: Rates, again: Rates): number {
  return median(quotients(rates, again).map((quotient) => Math.abs(quotient - 1)));
}

function quotients(rates: Rates, others: Rates): number[] {
  return rates.map((rate, round) => rate / (others[round] ?? NaN));
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? NaN)) / 2;
}
