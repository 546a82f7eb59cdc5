import type { Hex, PoolKey } from '../engine/quote.js';
import { readNewExpiration } from '../wire/expiration.js';
import { type OptionTerms, readAmount, vaultQuoteQuery } from '../wire/options.js';
import type { VaultQuote, VaultTrade } from '../wire/answers.js';
import { formatDecimal } from '../wire/primitives.js';
import { withQuery } from './checked-input.js';
import { BAD_EXPIRATION, chainUnreachable, json, noWallet, refuse } from './responses.js';
import type { Route } from './router.js';

export interface VaultPrices {
  quote(trade: VaultTrade): Promise<VaultQuote>;
}

export interface VaultRouteLimits {
  readonly queryPairs: number;
  readonly schemaErrors: number;
}

/** GET /vaults/quote. `vaults`: null while there is no wallet to quote for. `symbols`: those with a token here. */
export function vaultRoute(
  vaults: () => VaultPrices | null,
  symbols: readonly string[],
  limits: VaultRouteLimits,
): Route {
  const handle = withQuery(vaultQuoteQuery(symbols), { limits }, async (request, _, query) => {
    const prices = vaults();
    if (prices === null) return noWallet(request);
    const { base, quote, expiration, type, direction } = query;
    const strike = readAmount(query.strike);
    const size = readAmount(query.size);
    const answer = await prices.quote({ base, quote, expiration, strike, type, size, isBuy: direction === 'buy' });
    switch (answer.type) {
      case 'QUOTED':
        return json(quoteJson(answer, { vault: answer.vault, expiration, strike, size, direction }));
      case 'REFUSED':
        return refuse(request, answer.code === 'invalid_expiration' ? BAD_EXPIRATION : answer.code, {
          message: answer.message,
          quote: query,
        });
      case 'FAILED':
        return refuse(request, 'contract_call_failed', 'Failed to get quote from vault');
      case 'CHAIN_UNREACHABLE':
        return chainUnreachable(request);
    }
  });

  return { method: 'GET', path: '/vaults/quote', needsKey: true, handle };
}

export interface RfqMessageParts {
  readonly symbols: readonly string[];
  /** The settlement chain's id in decimal digits. */
  readonly chainId: string;
  /** The taker; null without a wallet. */
  readonly operator: () => Hex | null;
  /** Engine time, Unix seconds; null: the chain has not been read yet. */
  readonly nowSeconds: () => number | null;
  /** `maturity`: Unix seconds. Addresses as EIP-55 checksums. */
  readonly poolKey: (option: OptionTerms, maturity: number) => PoolKey;
  readonly limits: VaultRouteLimits;
}

/** GET /rfq/message, and /rfq/request as other documents call it: a request for quotes, ready to be sent over a WebSocket. */
export function rfqMessageRoutes(parts: RfqMessageParts): Route[] {
  const { symbols, chainId, operator, nowSeconds, poolKey, limits } = parts;

  const handle = withQuery(vaultQuoteQuery(symbols), { limits }, (request, _, query) => {
    const taker = operator();
    if (taker === null) return noWallet(request);
    const now = nowSeconds();
    if (now === null) return chainUnreachable(request);
    const { base, quote, expiration, type, direction } = query;
    const date = readNewExpiration(expiration, now);
    if (!date.ok) return refuse(request, BAD_EXPIRATION, { message: date.refusal, quote: query });
    const strike = readAmount(query.strike);
    const key = poolKey({ base, quote, expiration, strike, type }, date.maturity);
    const body = {
      poolKey: {
        base: key.base,
        quote: key.quote,
        oracleAdapter: key.oracleAdapter,
        strike: strike.toString(),
        maturity: key.maturity,
        isCallPool: key.isCallPool,
      },
      side: direction === 'buy' ? 'ask' : 'bid',
      chainId,
      size: readAmount(query.size).toString(),
      taker: taker.toLowerCase(),
    };
    return json(JSON.stringify({ type: 'RFQ', body }));
  });

  return ['/rfq/message', '/rfq/request'].map((path) => ({ method: 'GET', path, needsKey: true, handle }));
}

interface Market extends Pick<VaultTrade, 'expiration' | 'strike' | 'size'> {
  readonly vault: string;
  readonly direction: string;
}

/** Numbers are written digit by digit, as the contracts have them. */
export function marketJson({ vault, expiration, strike, size, direction }: Market): string {
  return (
    `{"vault":${JSON.stringify(vault)},"strike":${formatDecimal(strike, 18)},"expiration":${JSON.stringify(expiration)},` +
    `"size":${formatDecimal(size, 18)},"direction":"${direction}"}`
  );
}

/** `fee` and `takerFee` are two names of one thing. */
function quoteJson({ quote, fee }: Extract<VaultQuote, { type: 'QUOTED' }>, market: Market): string {
  const takerFee = formatDecimal(fee.units, fee.decimals);
  const total = formatDecimal(quote.units, quote.decimals);
  return `{"market":${marketJson(market)},"quote":${total},"takerFee":${takerFee},"fee":${takerFee}}`;
}
