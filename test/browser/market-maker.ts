import { privateKeyToAccount } from 'viem/accounts';
import { OrderbookClient, type PoolKey, type PostedQuote, type Side } from '../../src/client/node.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { DevActions } from '../chain/dev-actions.js';
import { documentedPorts } from '../e2e/documented-network.js';
import type { TestService } from '../e2e/running-service.js';

const ONE = 10n ** 18n;
/** 1e-18: a thousandth. */
const TICK = ONE / 1000n;

/** Puts a market into the pools of a service, as several makers and a taker would. */
export class MarketMaker {
  readonly #service: TestService;
  readonly #client: OrderbookClient;

  constructor(service: TestService) {
    this.#service = service;
    this.#client = this.#newClient();
  }

  #newClient(): OrderbookClient {
    const { httpUrl: url, apiKey } = this.#service;
    return new OrderbookClient({ url, apiKey, chainId: '421613' }, documentedPorts);
  }

  /** Quotes on both sides of these pools, `levels` of each. */
  async quote(pools: readonly Pool[], levels: number): Promise<void> {
    const offers = pools.flatMap((pool, n) =>
      Array.from({ length: levels }, (_, level) => {
        const away = TICK * BigInt(1 + level * 2 + (n % 3));
        const middle = (ONE * BigInt(30 + 7 * (n % 5))) / 1000n;
        const size = (ONE * BigInt(2 + ((level * 7 + n * 3) % 9))) / 2n;
        return [
          this.sign(pool, 'bid', middle - away > 0n ? middle - away : TICK, size),
          this.sign(pool, 'ask', middle + away, size),
        ];
      }).flat(),
    );
    await this.post(await Promise.all(offers));
  }

  /** Rejects when one is refused. */
  async post(quotes: readonly PostedQuote[]): Promise<void> {
    const { failed } = await this.#client.rest.postQuotes(quotes);
    const [first] = failed;
    if (first !== undefined) throw new Error(`a quote was refused: ${first.reason}`);
  }

  ask(pool: Pool, price: bigint, size: bigint): Promise<void> {
    return this.#post(pool, 'ask', price, size);
  }

  /** An ask that this taker alone may fill. */
  async askFor(taker: Hex, pool: Pool, price: bigint, size: bigint): Promise<void> {
    await this.#client.rest.postQuotes([await this.sign(pool, 'ask', price, size, taker)]);
  }

  bid(pool: Pool, price: bigint, size: bigint): Promise<void> {
    return this.#post(pool, 'bid', price, size);
  }

  async #post(pool: Pool, side: Side, price: bigint, size: bigint): Promise<void> {
    await this.#client.rest.postQuotes([await this.sign(pool, side, price, size)]);
  }

  /** Takes a part of the pool's best ask. */
  async fill(pool: Pool, size: bigint): Promise<void> {
    const { poolAddress } = pool;
    const [best] = await this.#client.rest.quotes({ poolAddress, side: 'ask', size: '1' });
    const taker = this.#service.chain.accounts[4]?.address;
    if (best === undefined || taker === undefined) throw new Error('there is nothing to fill');
    const offer = { ...best, pool, price: BigInt(best.price), size: BigInt(best.size) };
    await new DevActions(this.#service.chain).fill(taker, offer, size);
  }

  requestQuotes({ poolAddress }: Pool, size: bigint): Promise<void> {
    return this.#request({ poolAddress }, size);
  }

  /** A request that is followed until it ends; `validUntil`: Unix seconds; `terms`: makers who alone hear of it. */
  async openRfq(
    { poolAddress }: Pool,
    size: bigint,
    validUntil: number,
    terms: { readonly makers?: Hex[]; readonly anonymous?: boolean } = {},
  ): Promise<void> {
    const taker = this.#service.chain.accounts[4]?.address ?? '0x';
    const legs = [{ poolAddress, side: 'ask' as const, size: size.toString() }];
    await this.#client.rest.openRfq({ taker, validUntil, legs, ...terms });
  }

  /** With the addresses of the key in the letter case that a taker happens to write them in. */
  requestQuotesByKey({ poolKey }: Pool, size: bigint): Promise<void> {
    const base = poolKey.base.toLowerCase() as Hex;
    return this.#request({ poolKey: { ...poolKey, base, strike: poolKey.strike.toString() } }, size);
  }

  /** Through a client that is closed when it has been answered. */
  async #request(pool: { readonly poolAddress: Hex } | { readonly poolKey: PoolKey }, size: bigint): Promise<void> {
    const taker = this.#service.chain.accounts[4]?.address ?? '0x';
    const client = this.#newClient();
    await client.requestQuotes({ ...pool, side: 'ask', size, taker });
    client.close();
  }

  /** `taker`: who alone may fill it. */
  async sign(pool: Pool, side: Side, price: bigint, size: bigint, taker?: Hex): Promise<PostedQuote> {
    const key: Hex | undefined = this.#service.chain.accounts[1]?.privateKey;
    if (key === undefined) throw new Error('a chain has accounts');
    const { poolAddress, poolKey } = pool;
    const wire = { poolAddress, poolKey: { ...poolKey, strike: poolKey.strike.toString() } };
    return (
      await this.#client.signQuote(privateKeyToAccount(key), wire, { side, price, size, ...(taker && { taker }) })
    ).posted;
  }
}
