import type { ChainRole } from '../../src/engine/command.js';
import type { Rpc } from '../../src/chain/rpc/rpc-client.js';
import type { Hex } from '../../src/engine/quote.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import { REORG_DEPTH, START } from '../engine/samples.js';
import type { SeededRandom } from './seeded-random.js';
import { SimChain, type Happening, type LogFaults, type SimBlock } from './sim-chain.js';
import type { SimClock } from './sim-clock.js';
import { SimContracts } from './sim-contracts.js';
import * as market from './sim-market.js';
import { SIM_MAKERS, SIM_POOLS, signSimQuotes } from './sim-quotes.js';
import { SimRpc } from './sim-rpc.js';

/** A reorg leaves at least what a reader that stood at the tallest head ever can still find. */
const DEEPEST = REORG_DEPTH - 2;

const quotes = await signSimQuotes();
const contracts = new SimContracts(quotes);

/** What is known and fillable, or would be but for a reason that may pass, and the pools; in the order of their ids. */
export interface SimBook {
  readonly orders: readonly { readonly quoteId: Hex; readonly fillableSize: bigint; readonly reason: number | null }[];
  readonly pools: readonly Hex[];
}

/** Both chains, and what makers, takers and miners do there. They know nothing of any process. */
export class SimChains {
  readonly #random: SeededRandom;
  readonly #clock: SimClock;
  readonly #settlement = new SimChain<market.Market>(market.EMPTY_MARKET, START);
  readonly #stream = new SimChain<null>(null, START);
  /** Seconds that the chains' time is ahead of the simulator's. */
  #leapt = 0;

  constructor(random: SeededRandom, clock: SimClock) {
    this.#random = random;
    this.#clock = clock;
  }

  /** A process's JSON-RPC clients. `trouble`: how often a node fails it; 0: never. `faults`: of the nodes' logs. */
  rpc(random: SeededRandom, trouble: number, faults?: LogFaults): Record<ChainRole, Rpc> {
    const common = { clock: this.#clock, random, trouble, faults };
    const nothing = (): never => {
      throw new Error('the stream chain is asked for no contract');
    };
    return {
      settlement: new SimRpc({ ...common, chain: this.#settlement, call: contracts.call.bind(contracts) }),
      stream: new SimRpc({ ...common, chain: this.#stream, call: nothing }),
    };
  }

  get heads(): Record<ChainRole, SimBlock<unknown>> {
    return { settlement: this.#settlement.head, stream: this.#stream.head };
  }

  /**
   * What the book is at the heads, by what the chains' own code knows and nothing of what reads them: two readings that
   * err alike would agree with each other. `nowSeconds`: engine time.
   */
  book(nowSeconds: number): SimBook {
    const { state, timestamp } = this.#settlement.head;
    const isPublished = (quote: SignedOffer): boolean => {
      const { data } = market.publish(quote, null);
      return this.#stream.logs.some((log) => log.data === data);
    };
    const isDue = ({ deadline, pool }: SignedOffer): boolean =>
      nowSeconds > deadline || nowSeconds >= pool.poolKey.maturity;
    const orders = quotes.flatMap((quote) => {
      const fillableSize = quote.size - (state.filled.get(quote.quoteId) ?? 0n);
      if (fillableSize <= 0n || isDue(quote) || !isPublished(quote)) return [];
      const error = market.quoteError(state, quote, fillableSize, timestamp);
      return [{ quoteId: quote.quoteId, fillableSize, reason: error === 0 ? null : error }];
    });
    return { orders: orders.sort((a, b) => (a.quoteId < b.quoteId ? -1 : 1)), pools: [...state.deployed].sort() };
  }

  /** One more block, or a branch in the place of another. */
  happen(): void {
    const random = this.#random;
    if (random.chance(0.05)) this.#leapt += random.below(60);
    if (random.chance(0.5)) {
      if (random.chance(0.15)) this.#cut(this.#stream);
      this.mineStream();
    } else {
      if (random.chance(0.15)) this.#cut(this.#settlement);
      this.mineSettlement();
    }
  }

  mineStream(): void {
    this.#stream.mine(this.#nowSeconds, () => {
      const logs = this.#some(3).map((quote) => {
        if (this.#random.chance(0.05)) return market.publishNonsense();
        return market.publish(quote, this.#random.chance(0.1) ? this.#random.pick(quotes) : null);
      });
      return { logs, state: null };
    });
  }

  mineSettlement(): void {
    const timestamp = this.#nowSeconds;
    this.#settlement.mine(timestamp, (before) => {
      let state = before;
      const logs = this.#some(3).flatMap((quote) => {
        const happened = this.#transaction(state, quote, timestamp);
        state = happened.state;
        return happened.logs;
      });
      return { logs, state };
    });
  }

  #transaction(state: market.Market, quote: SignedOffer, timestamp: number): Happening<market.Market> {
    const random = this.#random;
    switch (random.below(8)) {
      case 0:
        return market.deploy(state, random.pick(SIM_POOLS));
      case 1:
        return market.cancel(state, quote);
      case 2:
      case 3: {
        const amount = random.pick([0n, 10n ** 18n, market.PLENTY]);
        return market.setMeans(state, random.pick(['allowance', 'balance']), random.pick(SIM_MAKERS), amount);
      }
      case 4:
        return market.lie(state, quote);
      default:
        return market.fill(state, quote, BigInt(random.between(1, 30)) * 10n ** 17n, timestamp);
    }
  }

  #some(most: number): SignedOffer[] {
    return Array.from({ length: this.#random.below(most + 1) }, () => this.#random.pick(quotes));
  }

  /** The last blocks never were; others follow at once, as a node would show it, or later. */
  #cut<State>(chain: SimChain<State>): void {
    const lowest = Math.max(1, chain.tallest - DEEPEST);
    if (chain.head.number <= lowest) return;
    chain.cutTo(this.#random.between(lowest, chain.head.number - 1));
  }

  get #nowSeconds(): number {
    return START + Math.floor(this.#clock.monotonicMs() / 1000) + this.#leapt;
  }
}
