import type { Hex } from 'viem';
import type { InstrumentJson } from '../wire/options.js';
import type { ClientClock } from './ports.js';
import type { Rest } from './rest.js';
import type { QuotedPool } from './sign-quote.js';

/** No pool of the service has this name or address. */
export class UnknownPoolError extends Error {
  override readonly name = 'UnknownPoolError';
}

/** Finds pools by the names of their options, such as `WETH-USDC-29JAN27-2000-C`, or by address. */
export class Pools {
  readonly #rest: Pick<Rest, 'instruments' | 'tickers'>;
  readonly #clock: Pick<ClientClock, 'wallMs'>;
  /** The newest answer of GET /instruments. */
  #instruments: ReadonlyMap<string, InstrumentJson> = new Map<string, InstrumentJson>();

  constructor(rest: Pick<Rest, 'instruments' | 'tickers'>, clock: Pick<ClientClock, 'wallMs'>) {
    this.#rest = rest;
    this.#clock = clock;
  }

  /**
   * Rejects with UnknownPoolError where no deployed, unexpired pool has the name. Pools that price with another oracle
   * adapter than the deployment's have no name: find these by address.
   */
  async byName(name: string): Promise<InstrumentJson> {
    const known = this.#instruments.get(name);
    const found = known !== undefined && this.#isLive(known) ? known : (await this.#fetched()).get(name);
    if (found === undefined) throw new UnknownPoolError(`No pool has the name ${name}`);
    return found;
  }

  /** Finds any pool that is deployed and has not expired, or has quotes; else rejects with UnknownPoolError. */
  async byAddress(poolAddress: Hex): Promise<QuotedPool> {
    const address = poolAddress.toLowerCase();
    const named = [...this.#instruments.values()].find((instrument) => instrument.poolAddress === address);
    if (named !== undefined && this.#isLive(named)) return named;
    const { tickers } = await this.#rest.tickers();
    const ticker = tickers.find((each) => each.poolAddress === address);
    if (ticker === undefined) throw new UnknownPoolError(`No pool has the address ${poolAddress}`);
    return { poolAddress: ticker.poolAddress, poolKey: ticker.poolKey };
  }

  #isLive({ expiry }: InstrumentJson): boolean {
    return expiry * 1_000 > this.#clock.wallMs();
  }

  async #fetched(): Promise<ReadonlyMap<string, InstrumentJson>> {
    const instruments = await this.#rest.instruments();
    this.#instruments = new Map(instruments.map((each) => [each.instrument, each]));
    return this.#instruments;
  }
}
