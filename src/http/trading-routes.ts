import { type Hex, type PoolKey, type SignedQuote, ZERO_ADDRESS } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import type { TokenCapRefusal } from '../quota/token-caps.js';
import { readAmount, readOption } from '../wire/options.js';
import type { TokenAmount } from '../wire/answers.js';
import type { PublishedItem } from '../wire/answers.js';
import { formatDecimal } from '../wire/primitives.js';
import type { ReadableJson } from '../wire/readable.js';
import {
  approvalsBody,
  cancelQuotesBody,
  fillQuotesBody,
  type NewQuoteJson,
  newQuotesBody,
  readQuoteId,
  vaultTradeBody,
} from '../wire/trading.js';
import type {
  ApprovalAnswer,
  ApprovalRequest,
  CancelAnswer,
  CancelItem,
  FillAnswer,
  FillRequest,
  NewQuote,
  SigningResult,
  Traded,
  VaultOrder,
  VaultTradeAnswer,
} from '../wire/answers.js';
import { TRANSACTION_UNCONFIRMED } from '../wire/unconfirmed.js';
import { type Form, type Formed, withAmounts } from './checked-input.js';
import { lower } from './parse.js';
import {
  notPublished,
  publishedAnswer,
  publishingRefused,
  type QuotePublishing,
  quotesRefused,
} from './publish-route.js';
import {
  BAD_EXPIRATION,
  chainUnreachable,
  gasRefused,
  json,
  notNow,
  noWallet,
  refuse,
  unavailable,
} from './responses.js';
import type { Caller, Route, RouteHandler } from './router.js';
import { marketJson } from './vault-routes.js';

/** Actions of the operator's wallet for keys with the scope `operator`. Results are in the order of the request. */
export interface OperatorTrading {
  /** Why nothing can be sent just now; null when it can. */
  refusal(): string | null;
  fill(caller: Caller, fills: readonly FillRequest[]): Promise<FillAnswer | GasRefusal | TokenCapRefusal>;
  cancel(caller: Caller, quoteIds: readonly Hex[]): Promise<CancelAnswer | GasRefusal>;
  approve(caller: Caller, approvals: readonly ApprovalRequest[]): Promise<ApprovalAnswer | GasRefusal>;
  tradeWithVault(caller: Caller, order: VaultOrder): Promise<VaultTradeAnswer | GasRefusal | TokenCapRefusal>;
  sign(quotes: readonly NewQuote[]): Promise<SigningResult>;
}

export interface TradingRouteLimits {
  /** Objects, arrays and fields that a body may have. */
  readonly bodyParts: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
  readonly signedQuotesPerRequest: number;
  readonly tradesPerRequest: number;
}

export interface TradingRouteParts {
  /** Null while there is no wallet. */
  readonly trading: () => OperatorTrading | null;
  readonly publishing: QuotePublishing;
  /** Reports a transaction that published quotes of POST /orderbook/quotes. */
  readonly onPublished: (caller: Caller, txHash: Hex) => void;
  readonly readable: ReadableJson;
  /** Symbols of the chain's tokens. */
  readonly symbols: readonly string[];
  readonly limits: TradingRouteLimits;
}

/**
 * Trades of the operator's wallet: POST, PATCH and DELETE /orderbook/quotes, POST /account/collateral_approval and
 * POST /vaults/trade.
 */
export function tradingRoutes(parts: TradingRouteParts): Route[] {
  const quotes = { path: '/orderbook/quotes', needsKey: true, scope: 'operator' } as const;
  return [
    { ...quotes, method: 'POST', takesQuotes: true, takesBatch: true, handle: offering(parts) },
    { ...quotes, method: 'PATCH', handle: filling(parts) },
    { ...quotes, method: 'DELETE', handle: cancelling(parts) },
    {
      method: 'POST',
      path: '/account/collateral_approval',
      needsKey: true,
      scope: 'operator',
      handle: approving(parts),
    },
    { method: 'POST', path: '/vaults/trade', needsKey: true, scope: 'operator', handle: tradingWithVault(parts) },
  ];
}

/** Reads the body, refuses what is wrong with it, and answers where there is a wallet that may send. */
function acting<const F extends Form>(
  { trading, limits }: TradingRouteParts,
  form: F,
  answer: (request: NetRequest, caller: Caller, body: Formed<F>, wallet: OperatorTrading) => Promise<NetResponse>,
): RouteHandler<Caller> {
  return withAmounts(form, { limits }, (request, caller, body) => {
    const wallet = trading();
    if (wallet === null) return noWallet(request);
    const refusal = wallet.refusal();
    if (refusal !== null) return notNow(request, refusal);
    return answer(request, caller, body, wallet);
  });
}

/** POST /orderbook/quotes. */
function offering(parts: TradingRouteParts): RouteHandler<Caller> {
  const { publishing, onPublished, readable, symbols, limits } = parts;
  return acting(parts, newQuotesBody(symbols, limits.signedQuotesPerRequest), async (request, caller, body, wallet) => {
    const refusal = publishing.refusal();
    if (refusal !== null) return publishingRefused(request, refusal);
    const signed = await wallet.sign(body.map(readTerms));
    if (signed.type === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    if (signed.type === 'REFUSED') {
      const { index, code, message, poolKey } = signed;
      return refuse(
        request,
        code,
        poolKey === null ? { message, quote: body[index] } : { message, poolKey: keyJson(poolKey) },
      );
    }
    const { quotes } = signed;
    const overQuota = quotesRefused(request, publishing, caller, quotes.length);
    if (overQuota !== null) return overQuota;
    const result = await publishing.submit(
      caller,
      quotes.map(({ pool, ...terms }) => ({ ...terms, poolKey: pool.poolKey })),
      true,
    );
    if (result.type !== 'ANSWERED') return notPublished(request, result);
    const sent = result.items.flatMap((item) => (item.type === 'CREATED' ? item.order.quote.origin.txHash : []));
    for (const txHash of new Set(sent)) onPublished(caller, txHash);
    return published(readable, quotes, result.items);
  });
}

/** PATCH /orderbook/quotes. */
function filling(parts: TradingRouteParts): RouteHandler<Caller> {
  const { limits } = parts;
  return acting(parts, fillQuotesBody(limits.tradesPerRequest), async (request, caller, body, wallet) => {
    const lists = new IdLists(body.map(({ quoteId }) => quoteId));
    const fills = body.flatMap(({ quoteId: written, tradeSize }) => {
      const quoteId = readQuoteId(written);
      return quoteId === null ? [] : [{ quoteId, size: readAmount(String(tradeSize)) }];
    });
    const result = fills.length === 0 ? NOTHING_TRADED : await wallet.fill(caller, fills);
    switch (result.type) {
      case 'ANSWERED':
        return lists.answer(request, result.items, ['success', 'failed']);
      case 'NO_BALANCES':
        return refuse(request, 'balance_unknown', {
          message: 'failed to get tokens balances',
          rejectedTokenBalances: result.tokens,
        });
      case 'NOT_ENOUGH':
        return result.what === 'collateral'
          ? refuse(request, 'insufficient_balance', `Not enough ${result.symbol} collateral to fill orders`)
          : refuse(request, 'insufficient_allowance', `Not enough ${result.symbol} allowance to fill orders`);
      case 'CHAIN_UNREACHABLE':
        return chainUnreachable(request);
      default:
        return gasRefused(request, result);
    }
  });
}

/** DELETE /orderbook/quotes. */
function cancelling(parts: TradingRouteParts): RouteHandler<Caller> {
  const { limits } = parts;
  return acting(parts, cancelQuotesBody(limits.tradesPerRequest), async (request, caller, { quoteIds }, wallet) => {
    const lists = new IdLists(quoteIds);
    const known = quoteIds.flatMap((written) => readQuoteId(written) ?? []);
    const result = known.length === 0 ? NOTHING_TRADED : await wallet.cancel(caller, known);
    if (result.type === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    if (result.type !== 'ANSWERED') return gasRefused(request, result);
    return lists.answer(request, result.items, ['success', 'failed', 'omitted']);
  });
}

/** POST /account/collateral_approval. */
function approving(parts: TradingRouteParts): RouteHandler<Caller> {
  const { symbols } = parts;
  return acting(parts, approvalsBody(symbols), async (request, caller, body, wallet) => {
    const approvals = body.map(({ token, amt }) => ({ symbol: token, amount: String(amt) }));
    const result = await wallet.approve(caller, approvals);
    if (result.type === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    if (result.type !== 'ANSWERED') return gasRefused(request, result);
    const success: unknown[] = [];
    const failed: unknown[] = [];
    for (const [i, item] of result.items.entries()) {
      if (item.type === 'APPROVED') success.push(body[i]);
      else failed.push({ message: 'approval error', token: body[i], error: item.error });
    }
    return json(JSON.stringify({ success, failed }));
  });
}

/** POST /vaults/trade. */
function tradingWithVault(parts: TradingRouteParts): RouteHandler<Caller> {
  const { symbols } = parts;
  return acting(parts, vaultTradeBody(symbols), async (request, caller, body, wallet) => {
    const { size, direction, premiumLimit, ...option } = body;
    const terms = readOption(option);
    const order = {
      ...terms,
      size: readAmount(String(size)),
      isBuy: direction === 'buy',
      premiumLimit: String(premiumLimit),
    };
    const result = await wallet.tradeWithVault(caller, order);
    switch (result.type) {
      case 'TRADED': {
        const { vault, paid, txHash } = result;
        const market = marketJson({ ...order, vault, direction });
        const amounts = paid === null ? '' : `"quote":${amountJson(paid.quote)},"fee":${amountJson(paid.fee)},`;
        return json(`{"market":${market},${amounts}"transactionHash":"${txHash}"}`);
      }
      case 'REFUSED':
        return refuse(request, result.code === 'invalid_expiration' ? BAD_EXPIRATION : result.code, {
          message: result.message,
          trade: body,
        });
      case 'FAILED':
        return refuse(request, 'contract_call_failed', 'Failed to trade with vault');
      case 'NOT_CONFIRMED':
        return refuse(request, 'transaction_not_confirmed', TRANSACTION_UNCONFIRMED);
      case 'WAITED':
        return unavailable(request, 'busy', 'Earlier transactions are not confirmed yet: nothing was sent');
      case 'CHAIN_UNREACHABLE':
        return chainUnreachable(request);
      default:
        return gasRefused(request, result);
    }
  });
}

const NOTHING_TRADED: Traded<never> = { type: 'ANSWERED', items: [] };

const LIST_OF = { DONE: 'success', FAILED: 'failed', OMITTED: 'omitted' } as const;

/** The ids of one request, as they were sent, by what became of each. */
class IdLists {
  readonly #written: readonly string[];

  constructor(written: readonly string[]) {
    this.#written = written;
  }

  /**
   * `items`: in the order of the ids that can be ids; others are of no quote. 504 if a transaction may still be mined: the
   * client must not take it for failed.
   */
  answer(
    request: NetRequest,
    items: readonly CancelItem[],
    names: readonly ('success' | 'failed' | 'omitted')[],
  ): NetResponse {
    const lists: Record<'success' | 'failed' | 'omitted', string[]> = { success: [], failed: [], omitted: [] };
    const pending: string[] = [];
    const outcomes = items.values();
    const ofNoQuote = names.includes('omitted') ? lists.omitted : lists.failed;
    for (const written of this.#written) {
      const item = readQuoteId(written) === null ? null : (outcomes.next().value ?? null);
      if (item === null) ofNoQuote.push(written);
      else if (item.type === 'PENDING') pending.push(written);
      else lists[LIST_OF[item.type]].push(written);
    }
    const named = Object.fromEntries(names.map((name) => [name, lists[name]]));
    if (pending.length === 0) return json(JSON.stringify(named));
    return refuse(request, 'transaction_not_confirmed', { message: TRANSACTION_UNCONFIRMED, pending, ...named });
  }
}

function readTerms({ side, size, price, deadline, taker = ZERO_ADDRESS, ...option }: NewQuoteJson): NewQuote {
  return {
    ...readOption(option),
    isBuy: side === 'bid',
    size: readAmount(String(size)),
    price: readAmount(String(price)),
    lifeSeconds: deadline,
    taker: lower(taker),
  };
}

function published(
  readable: ReadableJson,
  quotes: readonly SignedQuote[],
  items: readonly PublishedItem[],
): NetResponse {
  const lists = { CREATED: [] as string[], EXISTS: [] as string[], FAILED: [] as string[] };
  for (const [i, quote] of quotes.entries()) {
    const item = items[i];
    if (item === undefined) throw new Error('A quote has no outcome');
    lists[item.type].push(
      item.type === 'FAILED'
        ? `{"reason":${JSON.stringify(item.reason)},"quote":${readable.failedQuote(quote)}}`
        : readable.quote(item.order.quote, item.fillableSize),
    );
  }
  return publishedAnswer(lists);
}

function keyJson({ strike, ...key }: PoolKey): Record<string, unknown> {
  const { base, quote, oracleAdapter, maturity, isCallPool } = key;
  return { base, quote, oracleAdapter, strike: formatDecimal(strike, 18), maturity, isCallPool };
}

function amountJson({ units, decimals }: TokenAmount): string {
  return formatDecimal(units, decimals);
}
