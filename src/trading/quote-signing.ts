import { parseSignature } from 'viem';
import type { QuoteSignature } from '../auth/quote-signature.js';
import type { ChainReader } from '../chain/contracts/chain-reader.js';
import { unlessChainFails } from '../chain/contracts/contract-errors.js';
import { findPools } from '../chain/follow/pool-addresses.js';
import type { ChainSeconds, OptionSeries } from '../chain/options/option-series.js';
import type { Hex, PoolKey, SignedQuote } from '../engine/quote.js';
import { readNewExpiration } from '../wire/expiration.js';
import type { NewQuote, SigningRefusal, SigningResult } from '../wire/answers.js';

interface Keyed {
  readonly quote: NewQuote;
  readonly key: PoolKey;
}

export interface QuoteSigningParts {
  readonly signer: { readonly address: Hex; sign(digest: Hex): Promise<Hex> };
  readonly signatures: Pick<QuoteSignature, 'quoteId'>;
  readonly reader: Pick<ChainReader, 'multicall'>;
  readonly poolFactory: Hex;
  readonly series: Pick<OptionSeries, 'poolKey'>;
  readonly nowSeconds: ChainSeconds;
  /** Continues after a restart where it stopped, so that salts do, too. */
  readonly nowMs: () => number;
  readonly minLifeSeconds: number;
}

/** Signs quotes with the operator's key, as their provider. */
export class QuoteSigning {
  #lastSalt = 0;

  constructor(private readonly parts: QuoteSigningParts) {}

  /** In the order of `quotes`, whose symbols all have tokens. Their pools have to be deployed. */
  async sign(quotes: readonly NewQuote[]): Promise<SigningResult> {
    const now = this.parts.nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const { keyed, refusal } = this.#read(quotes, now);
    return unlessChainFails(
      async () => {
        const found = await findPools(
          this.parts.reader,
          this.parts.poolFactory,
          keyed.map(({ key }) => key),
        );
        const unsigned: Omit<SignedQuote, 'signature'>[] = [];
        for (const [index, { quote, key }] of keyed.entries()) {
          const pool = found.get(key);
          if (pool?.type !== 'FOUND') return refused(index, 'invalid_pool_key', 'Can not get pool address', key);
          if (!pool.isDeployed) return refused(index, 'pool_not_deployed', 'Pool is not deployed', key);
          unsigned.push(this.#terms(quote, { poolAddress: pool.poolAddress, poolKey: key }, now));
        }
        if (refusal !== null) return refusal;
        const signed: SignedQuote[] = [];
        for (const terms of unsigned) signed.push(await this.#signed(terms));
        return { type: 'SIGNED', quotes: signed };
      },
      { type: 'CHAIN_UNREACHABLE' },
    );
  }

  /** Up to the first quote that lives too short or has a date that no option may have. */
  #read(
    quotes: readonly NewQuote[],
    now: number,
  ): { readonly keyed: Keyed[]; readonly refusal: SigningRefusal | null } {
    const keyed: Keyed[] = [];
    for (const [index, quote] of quotes.entries()) {
      if (quote.lifeSeconds < this.parts.minLifeSeconds) {
        const message = `Quote deadline is invalid (cannot be less than ${this.parts.minLifeSeconds} sec)`;
        return { keyed, refusal: refused(index, 'invalid_parameter', message, null) };
      }
      const date = readNewExpiration(quote.expiration, now);
      if (!date.ok) return { keyed, refusal: refused(index, 'invalid_expiration', date.refusal, null) };
      keyed.push({ quote, key: this.parts.series.poolKey(quote, date.maturity) });
    }
    return { keyed, refusal: null };
  }

  #terms(
    { isBuy, size, price, lifeSeconds, taker }: NewQuote,
    pool: SignedQuote['pool'],
    now: number,
  ): Omit<SignedQuote, 'signature'> {
    const provider = this.parts.signer.address.toLowerCase() as Hex;
    return { pool, provider, taker, price, size, isBuy, deadline: now + lifeSeconds, salt: this.#nextSalt() };
  }

  async #signed(terms: Omit<SignedQuote, 'signature'>): Promise<SignedQuote> {
    const { r, s, v } = parseSignature(await this.parts.signer.sign(this.parts.signatures.quoteId(terms)));
    return { ...terms, signature: { r, s, v: Number(v ?? 0n) } };
  }

  /** Unique: two quotes with the same terms within a second would have the same id. Below 2^53 until the year 2255. */
  #nextSalt(): number {
    this.#lastSalt = Math.max(this.#lastSalt + 1, Math.floor(this.parts.nowMs()) * 1000);
    return this.#lastSalt;
  }
}

function refused(
  index: number,
  code: SigningRefusal['code'],
  message: string,
  poolKey: PoolKey | null,
): SigningRefusal {
  return { type: 'REFUSED', index, code, message, poolKey };
}
