import { QuoteDigest, QuoteSignature } from '../../src/auth/quote-signature.js';
import { loadSecp256k1 } from '../../src/auth/secp256k1.js';
import { InlineSignatureChecks, type SignatureChecks, SignaturePool } from '../../src/auth/signature-pool.js';
import { limits } from '../../src/config/limits.js';
import { systemClock } from '../../src/system/clock.js';
import { nativeRecover } from '../baselines/native-recover.js';
import { viemCheck, viemDigest } from '../baselines/viem-typed-data.js';
import { contest, type Contestant, type ContestOptions, rowOf } from '../contest.js';
import { atLeast, type Row, type Scale, type Scenario } from '../scenario.js';
import { poolOf, START_SECONDS } from '../workload/quotes.js';
import { CHAIN_ID, Makers, type SignedWork } from '../workload/signed-quotes.js';

const POOLS = Array.from({ length: 8 }, (_, n) => poolOf(n));
/** Batches that are under way at once where workers check them: as many as it takes for none to wait for the next. */
const BATCHES_IN_FLIGHT = 8;
/**
 * Times that worker threads check all quotes in one run: while the first ones are made ready and the last ones end,
 * threads wait, which is 1 % of a run of twice.
 */
const TIMES_WITH_WORKERS = 4;

class Bench {
  readonly #signatures: QuoteSignature;
  readonly #options: Pick<ContestOptions, 'rounds' | 'warmUps'>;
  readonly #times: number;
  readonly #timesWithWorkers: number;
  readonly signed: readonly SignedWork[];

  static async open(scale: Scale): Promise<Bench> {
    const digests = new QuoteDigest(CHAIN_ID, POOLS.length);
    return new Bench(scale, digests, new QuoteSignature(digests, await loadSecp256k1()));
  }

  private constructor(scale: Scale, digests: QuoteDigest, signatures: QuoteSignature) {
    const isFull = scale === 'full';
    this.#signatures = signatures;
    this.#options = { rounds: isFull ? 5 : 1, warmUps: isFull ? 2 : 0 };
    this.#times = isFull ? 10 : 1;
    this.#timesWithWorkers = isFull ? TIMES_WITH_WORKERS : 1;
    this.signed = new Makers(digests, 5, START_SECONDS).signMany(POOLS, START_SECONDS + 3600, isFull ? 4000 : 40);
  }

  async digestRow(): Promise<Row> {
    // Theirs takes so long that it gets a part of the quotes; rates are per quote.
    const theirs = viemDigest(this.signed.slice(0, Math.ceil(this.signed.length / 10)));
    const ours: Contestant = {
      name: 'ours',
      prepare: () => () => {
        for (let i = 0; i < this.#times; i++) for (const { quote } of this.signed) this.#signatures.quoteId(quote);
        return this.#times * this.signed.length;
      },
    };
    return this.#row('quote digest', [ours, ours, theirs], atLeast(40), 'cpu');
  }

  async checkRow(): Promise<Row> {
    const theirs = viemCheck(this.signed.slice(0, Math.ceil(this.signed.length / 40)));
    const ours: Contestant = {
      name: 'ours',
      prepare: () => () => {
        for (const { quote } of this.signed) {
          const quoteId = this.#signatures.quoteId(quote);
          const { provider, signature } = quote;
          if (!this.#signatures.verify({ quoteId, provider, signature }))
            throw new Error('A good signature is taken for a bad one');
        }
        return this.signed.length;
      },
    };
    return this.#row('whole check, one thread', [ours, ours, theirs], atLeast(30), 'cpu');
  }

  /** Per second that passes, since the work is spread over threads. */
  async batchRow(size: number, workers: number, goal: number | null): Promise<Row> {
    const inline = new InlineSignatureChecks(this.#signatures, systemClock, limits.checksPerTurn);
    const pool = new SignaturePool(inline, { ...limits, signatureWorkers: workers }, (error) => {
      throw error;
    });
    const checks = workers === 0 ? inline : pool;
    try {
      const ours = this.#inBatches(checks, size, workers === 0 ? 1 : this.#timesWithWorkers);
      const label = `batches of ${size}, ${workers === 0 ? 'inline' : `${workers} worker threads`}`;
      const contestants = [ours, ours, nativeRecover(this.signed)];
      return await this.#row(label, contestants, goal === null ? null : atLeast(goal), 'wall');
    } finally {
      await pool.close();
    }
  }

  #inBatches(checks: SignatureChecks, size: number, times: number): Contestant {
    return {
      name: 'ours',
      prepare: () => async () => {
        const total = times * this.signed.length;
        const starts = Array.from(
          { length: Math.ceil(total / size) },
          (_, i) => (i * size) % this.signed.length,
        ).values();
        const sender = async (): Promise<void> => {
          for (const start of starts) {
            const batch = this.signed.slice(start, start + size);
            const claimed = batch.map(({ quote }) => {
              const { provider, signature } = quote;
              return { quoteId: this.#signatures.quoteId(quote), provider, signature };
            });
            const verdicts = await checks.verifyAll(claimed);
            if (verdicts.includes(false)) throw new Error('A good signature is taken for a bad one');
          }
        };
        await Promise.all(Array.from({ length: BATCHES_IN_FLIGHT }, sender));
        return total;
      },
    };
  }

  async #row(
    label: string,
    contestants: readonly Contestant[],
    goal: Row['goal'],
    clock: 'cpu' | 'wall',
  ): Promise<Row> {
    const [ours = [], again = [], theirs = []] = await contest(contestants, { ...this.#options, clock });
    const unit = clock === 'cpu' ? 'per CPU s' : 'per s';
    return rowOf(label, { ours, again, theirs }, contestants[2]?.name ?? '', goal, unit);
  }
}

export const signatures: Scenario = {
  name: 'signatures',
  title: 'Digests and signatures',
  workload: `Signed quotes of 16 makers in 8 pools. The whole check is the digest, the recovery of the key, and the comparison of
its address. Batches come as from POST /quotes, eight under way at a time; *inline* is a service without worker
threads.`,
  async run(scale) {
    const bench = await Bench.open(scale);
    const rows = [await bench.digestRow(), await bench.checkRow()];
    for (const size of [25, 200, 1000]) {
      rows.push(await bench.batchRow(size, 0, null), await bench.batchRow(size, 2, 1.8));
    }
    return { rows };
  },
};
