import { encodeFunctionData } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import type { Clock } from '../../engine/ports.js';
import type { Hex } from '../../engine/quote.js';
import { repeat } from '../../system/timers.js';
import { devTokens, devVolatilityAbi, priceOracleAbi } from './contracts.js';
import { DEPLOYER_KEY, devClient, type DevClient } from './dev-client.js';
import type { LocalChain } from './local-chain.js';

/** Of one token: US dollars and volatility a year, in 1e-18. */
export interface TokenMarket {
  readonly symbol: string;
  readonly usdPrice: bigint;
  readonly volatility: bigint;
}

/** Deviations from the starting values are counted in millionths. */
const MILLION = 1_000_000;
/** Standard deviation of one step of a price and of a volatility: 0.1 % and 0.3 %. */
const PRICE_STEP = 1_000;
const VOLATILITY_STEP = 3_000;
/** Bound of a deviation: strikes around the starting price stay worth quoting. */
const MAX_DEVIATION = 200_000;
/** Share of its deviation by which each step returns. */
const RETURN_OF_STEP = 0.005;

const movingTokens = devTokens.filter(({ volatility }) => volatility > 0n);

/** A test token follows the token that it stands for. */
function underlyingOf(symbol: string): string {
  return symbol.replace(/^test/, '');
}

/**
 * A random walk of prices and volatilities around those that the local chain starts with. The same seed and starting
 * point give the same walk.
 */
export class MarketWalk {
  #state: number;
  readonly #deviations = new Map<string, { price: number; volatility: number }>();

  /** `now`: what the oracles say of tokens at the start; absent tokens start where the local chain does. */
  constructor(seed: number, now: readonly TokenMarket[] = []) {
    this.#state = seed >>> 0;
    for (const { symbol, usdPrice, volatility } of movingTokens) {
      const found = now.find((token) => token.symbol === symbol);
      this.#deviations.set(underlyingOf(symbol), {
        price: found === undefined ? 0 : deviationOf(found.usdPrice, usdPrice),
        volatility: found === undefined ? 0 : deviationOf(found.volatility, volatility),
      });
    }
  }

  /** One step of every token. */
  next(): TokenMarket[] {
    for (const deviation of this.#deviations.values()) {
      deviation.price = this.#step(deviation.price, PRICE_STEP);
      deviation.volatility = this.#step(deviation.volatility, VOLATILITY_STEP);
    }
    return movingTokens.map(({ symbol, usdPrice, volatility }) => {
      const deviation = this.#deviations.get(underlyingOf(symbol)) ?? { price: 0, volatility: 0 };
      return {
        symbol,
        usdPrice: deviated(usdPrice, deviation.price),
        volatility: deviated(volatility, deviation.volatility),
      };
    });
  }

  /** The sum of twelve uniform numbers is close enough to a normal one. */
  #step(from: number, size: number): number {
    let normal = -6;
    for (let i = 0; i < 12; i++) normal += this.#unit();
    const to = Math.round(from * (1 - RETURN_OF_STEP) + normal * size);
    return Math.max(-MAX_DEVIATION, Math.min(MAX_DEVIATION, to));
  }

  /** The algorithm is mulberry32: from 0 to 1, the same numbers for the same seed. */
  #unit(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

function deviated(start: bigint, deviation: number): bigint {
  return (start * BigInt(MILLION + deviation)) / BigInt(MILLION);
}

function deviationOf(now: bigint, start: bigint): number {
  const deviation = Number((now * BigInt(MILLION)) / start) - MILLION;
  return Math.max(-MAX_DEVIATION, Math.min(MAX_DEVIATION, deviation));
}

export interface LiveMarketOptions {
  readonly seed: number;
  /** Time between two steps. */
  readonly everyMs: number;
  readonly clock: Clock;
  /** A step failed; the next one is tried all the same. */
  readonly onError: (error: unknown) => void;
}

/** Moves prices and volatilities of a local chain a little at a time, with two transactions of the deployer a step. */
export class LiveMarket {
  readonly #client: DevClient;
  /** Signs here: a node that signs for it would list it among its accounts. */
  readonly #deployer = privateKeyToAccount(DEPLOYER_KEY);
  readonly #chain: Pick<LocalChain, 'tokens' | 'contracts'>;
  readonly #walk: MarketWalk;
  readonly #cancel: () => void;
  #step: Promise<void> = Promise.resolve();

  private constructor(
    client: DevClient,
    chain: Pick<LocalChain, 'tokens' | 'contracts'>,
    walk: MarketWalk,
    options: LiveMarketOptions,
  ) {
    this.#client = client;
    this.#chain = chain;
    this.#walk = walk;
    this.#cancel = repeat(options.clock, options.everyMs, () => (this.#step = this.#move()), options.onError);
  }

  /** Continues from what the chain's oracles say now. */
  static async start(
    chain: Pick<LocalChain, 'rpcUrl' | 'chainId' | 'tokens' | 'contracts'>,
    options: LiveMarketOptions,
  ): Promise<LiveMarket> {
    const client = devClient(chain.rpcUrl, chain.chainId);
    const now = await Promise.all(movingTokens.map(({ symbol }) => readMarket(client, chain, symbol)));
    return new LiveMarket(client, chain, new MarketWalk(options.seed, now), options);
  }

  /** Nothing is sent any more when it resolves. */
  async stop(): Promise<void> {
    this.#cancel();
    await Promise.allSettled([this.#step]);
  }

  async #move(): Promise<void> {
    const { oracleAdapter, volatilityOracle } = this.#chain.contracts;
    const market = this.#walk.next();
    const addresses = market.map(({ symbol }) => tokenOf(this.#chain, symbol));
    const prices = [addresses, market.map(({ usdPrice }) => usdPrice)] as const;
    const volatilities = [addresses, market.map(({ volatility }) => volatility)] as const;
    await this.#send(
      oracleAdapter,
      encodeFunctionData({ abi: priceOracleAbi, functionName: 'setUsdPrices', args: prices }),
    );
    await this.#send(
      volatilityOracle,
      encodeFunctionData({ abi: devVolatilityAbi, functionName: 'setAtTheMoney', args: volatilities }),
    );
  }

  async #send(to: Hex, data: Hex): Promise<void> {
    await this.#client.sendTransaction({ account: this.#deployer, to, data, gas: STEP_GAS, maxFeePerGas: 10n ** 10n });
  }
}

const STEP_GAS = 500_000n;

function tokenOf({ tokens }: Pick<LocalChain, 'tokens'>, symbol: string): Hex {
  const address = tokens[symbol];
  if (address === undefined) throw new Error(`The local chain has no token ${symbol}`);
  return address;
}

async function readMarket(
  client: DevClient,
  chain: Pick<LocalChain, 'tokens' | 'contracts'>,
  symbol: string,
): Promise<TokenMarket> {
  const args = [tokenOf(chain, symbol)] as const;
  const { oracleAdapter, volatilityOracle } = chain.contracts;
  const [usdPrice, volatility] = await Promise.all([
    client.readContract({ address: oracleAdapter, abi: priceOracleAbi, functionName: 'usdPrice', args }),
    client.readContract({ address: volatilityOracle, abi: devVolatilityAbi, functionName: 'atTheMoney', args }),
  ]);
  return { symbol, usdPrice, volatility };
}
