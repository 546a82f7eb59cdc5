import { ChainReader } from '../../src/chain/contracts/chain-reader.js';
import type { Profile } from '../../src/chain/contracts/deployments.js';
import { type IdentifiedQuote, publishedQuote } from '../../src/chain/contracts/quote-types.js';
import { ChainHealth } from '../../src/chain/follow/chain-health.js';
import type { QuoteReading } from '../../src/chain/follow/quote-states.js';
import type { PublicationOutcome } from '../../src/chain/publish/publisher.js';
import type { Rpc } from '../../src/chain/rpc/rpc-client.js';
import type { Command } from '../../src/engine/command.js';
import type { Pool, PoolKey, Quote } from '../../src/engine/quote.js';
import { blockHashOf, CONTRACT, hex, poolOf, START_SECONDS } from '../workload/quotes.js';
import { CHAIN_ID } from '../workload/signed-quotes.js';
import type { Chains, ChainsOptions } from '../../src/app/chains.js';

const NOBODY = hex(0, 40);
const SETTLEMENT_BLOCK = 500;
const FIRST_STREAM_BLOCK = 1000;
const QUOTES_PER_BLOCK = 100;

const contract = (n: number) => ({ address: hex(0xc0de00 + n, 40), startBlock: 0 });
const chain = {
  chainId: CHAIN_ID,
  rpcUrls: [],
  wsUrl: null,
  confirmations: 0,
  rereadBlocks: 4,
  maxHeadAgeSeconds: null,
};

/** Of no deployment: nobody is asked. */
export const profileAtOnce: Profile = {
  name: 'bench',
  settlement: chain,
  stream: chain,
  contracts: {
    orderbookStream: contract(1),
    poolFactory: contract(2),
    poolDiamond: contract(3),
    erc20Router: contract(4),
    oracleAdapter: contract(5),
    volatilityOracle: null,
    multicall3: null,
  },
  streamLookbackSeconds: 0,
  tokens: [],
  vaults: [],
};

export const rpcOfNobody: Rpc = {
  request: ({ method }) => Promise.reject(new Error(`There is no chain to ask for ${method}`)),
};

/** Every pool of the workloads, known without asking. */
class PoolsAtHand {
  readonly #byStrike = new Map<bigint, Pool>();

  resolve(keys: readonly PoolKey[]): Promise<Pool[]> {
    return Promise.resolve(keys.map(({ strike }) => this.#pool(strike)));
  }

  #pool(strike: bigint): Pool {
    const known = this.#byStrike.get(strike) ?? poolOf(Number(strike / CONTRACT) - 1000);
    this.#byStrike.set(strike, known);
    return known;
  }
}

/** No subscription announces anything. */
const UNHEARD = { open: () => undefined, add: () => undefined, close: () => undefined };

/** Every provider has the means, and nothing is filled. */
const statesAtHand = {
  read: (quotes: readonly IdentifiedQuote[]): Promise<QuoteReading[]> =>
    Promise.resolve(quotes.map(({ size }) => ({ state: { fillableSize: size, reason: null }, error: null }))),
};

/**
 * The event of what is published is there at once, and enters by the same command as any other: as many in one turn as
 * the follower of a chain reads in one.
 */
class PublisherAtOnce {
  readonly room = Infinity;
  readonly walletAddress = NOBODY;
  #count = 0;
  #leftInTurn: number;
  #nextTurn: Promise<void> | null = null;

  constructor(private readonly options: Pick<ChainsOptions, 'book' | 'limits'>) {
    this.#leftInTurn = options.limits.checksPerTurn;
  }

  has(): boolean {
    return false;
  }

  prefetch(): void {
    // There is no gas to be estimated.
  }

  async publish(quote: IdentifiedQuote): Promise<PublicationOutcome> {
    while (this.#leftInTurn === 0) await this.#nextTurn;
    this.#leftInTurn -= 1;
    this.#nextTurn ??= new Promise((resolve) =>
      setImmediate(() => {
        this.#leftInTurn = this.options.limits.checksPerTurn;
        this.#nextTurn = null;
        resolve();
      }),
    );
    this.#enter(quote);
    return { type: 'ENTERED', isSent: true };
  }

  #enter(quote: IdentifiedQuote): void {
    const n = this.#count++;
    const blockNumber = FIRST_STREAM_BLOCK + Math.floor(n / QUOTES_PER_BLOCK);
    const origin = { blockNumber, txHash: hex(n + 3, 64), logIndex: n % QUOTES_PER_BLOCK };
    enterQuote(this.options, publishedQuote(quote, START_SECONDS, origin));
  }
}

/** The command by which a quote enters the book, with a state in which all of it can be filled. */
export function enterCommand(quote: Quote): Command {
  const { blockNumber, logIndex } = quote.origin;
  return {
    type: 'ENTER_QUOTE',
    quote,
    state: { fillableSize: quote.size, reason: null },
    settlementBlock: SETTLEMENT_BLOCK,
    position: { chain: 'stream', blockNumber, blockHash: blockHashOf(blockNumber), logIndex },
  };
}

/** The way of a quote into the book that every stand-in for a chain takes. */
export function enterQuote({ book }: Pick<ChainsOptions, 'book'>, quote: Quote): void {
  if (!book.submit(enterCommand(quote)))
    throw new Error('The log takes nothing: the bench asks for more than it was made for');
}

/** The chains' place in the service: each answer is there when it is asked for, and what is published has happened. */
export function chainsAtOnce(options: ChainsOptions): Chains {
  const { clock } = options;
  const multicall = { callsPerBatch: 1, batchesInFlight: 1, gasPerCall: 0, gasPerCheck: 0 };
  const settlement = new ChainReader(rpcOfNobody, null, multicall);
  const head = { number: SETTLEMENT_BLOCK, hash: blockHashOf(SETTLEMENT_BLOCK), timestamp: START_SECONDS };
  const healthy = (name: string): ChainHealth => {
    const health = new ChainHealth(name, clock, Infinity, null);
    health.onHead({ ...head, parentHash: blockHashOf(SETTLEMENT_BLOCK - 1) });
    return health;
  };
  return {
    follower: {
      caughtUp: true,
      start() {
        options.onSettlementTime(START_SECONDS);
        options.listener.onCaughtUp();
      },
      wake: () => undefined,
    },
    heads: { settlement: UNHEARD, stream: UNHEARD },
    health: { settlement: healthy('settlement'), stream: healthy('stream') },
    settlement,
    pools: new PoolsAtHand(),
    states: statesAtHand,
    publisher: new PublisherAtOnce(options),
    settlementWallet: null,
    spending: null,
    balances: null,
    readTo: () => null,
    hasWaiting: () => false,
    stop: () => Promise.resolve(),
  };
}
