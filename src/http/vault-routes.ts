import type { NetRequest, NetResponse } from '../net/net.js';
import { type OptionTerms, readAmount, vaultQuoteQuery } from '../wire/options.js';
import { formatDecimal } from '../wire/primitives.js';
import { compile } from '../wire/validation.js';
import { readQuery } from './parse.js';
import { chainUnreachable, json, noWallet, refuse } from './responses.js';
import type { Route } from './router.js';

/** `units` of 10^-`decimals` tokens. */
interface Amount {
  readonly units: bigint;
  readonly decimals: number;
}

export type VaultAnswer =
  | { readonly type: 'QUOTED'; readonly vault: string; readonly quote: Amount; readonly fee: Amount }
  | { readonly type: 'REFUSED'; readonly message: string }
  | { readonly type: 'FAILED' }
  | { readonly type: 'CHAIN_UNREACHABLE' };

export interface VaultPrices {
  /** False: the process that asks has no wallet; absent: it has one. */
  hasWallet?(): boolean;
  /** `size`: 1e-18 contracts; `isBuy`: the operator buys. */
  quote(trade: OptionTerms & { readonly size: bigint; readonly isBuy: boolean }): Promise<VaultAnswer>;
}

export interface VaultRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

/** GET /vaults/quote. `vaults`: null when there is no wallet to quote for. `symbols`: those with a token here. */
export function vaultRoute(vaults: VaultPrices | null, symbols: readonly string[], limits: VaultRouteLimits): Route {
  const checkQuery = compile(vaultQuoteQuery(symbols), limits.schemaErrors);

  async function quote(request: NetRequest): Promise<NetResponse> {
    const query = readQuery(request, checkQuery, limits.queryPairs);
    if (!query.ok) return refuse(request, 400, query.error);
    if (vaults === null || vaults.hasWallet?.() === false) return noWallet(request);
    const { base, quote, expiration, type, direction } = query.value;
    const strike = readAmount(query.value.strike);
    const size = readAmount(query.value.size);
    const answer = await vaults.quote({ base, quote, expiration, strike, type, size, isBuy: direction === 'buy' });
    switch (answer.type) {
      case 'QUOTED':
        return json(quoteJson(answer, { expiration, strike, size, direction }));
      case 'REFUSED':
        return refuse(request, 400, answer.message);
      case 'FAILED':
        return refuse(request, 500, 'Failed to get quote from vault');
      case 'CHAIN_UNREACHABLE':
        return chainUnreachable(request);
    }
  }

  return { method: 'GET', path: '/vaults/quote', needsKey: true, handle: quote };
}

interface Market {
  readonly expiration: string;
  readonly strike: bigint;
  readonly size: bigint;
  readonly direction: string;
}

/** Numbers are written digit by digit, as the contracts have them. `fee` and `takerFee` are two names of one thing. */
function quoteJson(
  { vault, quote, fee }: VaultAnswer & { type: 'QUOTED' },
  { expiration, strike, size, direction }: Market,
): string {
  const takerFee = formatDecimal(fee.units, fee.decimals);
  const market =
    `{"vault":${JSON.stringify(vault)},"strike":${formatDecimal(strike, 18)},"expiration":${JSON.stringify(expiration)},` +
    `"size":${formatDecimal(size, 18)},"direction":"${direction}"}`;
  const total = formatDecimal(quote.units, quote.decimals);
  return `{"market":${market},"quote":${total},"takerFee":${takerFee},"fee":${takerFee}}`;
}
