import type { LocalChain } from '../../src/chain/dev/local-chain.js';
import type { Pool } from '../../src/engine/quote.js';
import { formatExpiration } from '../../src/wire/expiration.js';

/** An option as it is posted. */
export interface WireOption {
  readonly base: string;
  readonly quote: string;
  readonly expiration: string;
  readonly strike: number;
  readonly type: string;
}

export interface WirePool extends WireOption {
  readonly poolAddress: string;
}

/** A pool of the local chain as a client names it. */
export function optionOf(chain: LocalChain, { poolKey }: Pick<Pool, 'poolKey'>): WireOption {
  const symbolOf = (address: string): string => {
    const token = Object.entries(chain.tokens).find(([, known]) => known === address);
    if (token === undefined) throw new Error(`no token of the local chain is at ${address}`);
    return token[0];
  };
  return {
    base: symbolOf(poolKey.base),
    quote: symbolOf(poolKey.quote),
    expiration: formatExpiration(poolKey.maturity),
    strike: Number(poolKey.strike) / 1e18,
    type: poolKey.isCallPool ? 'C' : 'P',
  };
}

/** The option's terms as a query string. */
export function queryOf(option: WireOption, more: Readonly<Record<string, string>> = {}): string {
  return new URLSearchParams({ ...option, strike: String(option.strike), ...more }).toString();
}
