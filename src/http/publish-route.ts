import type { NetRequest, NetResponse } from '../net/net.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import type { delayCode } from '../wire/error-codes.js';
import { type DryRunResult, type PostedQuoteJson, postQuotesBody, PostQuotesQuery } from '../wire/orderbook.js';
import type { PublishAnswer, PublishedItem, QuoteToPublish } from '../wire/answers.js';
import { onChain } from '../wire/primitives.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { PUBLICATION_UNCONFIRMED } from '../wire/unconfirmed.js';
import { compile } from '../wire/validation.js';
import { withQuery } from './checked-input.js';
import { lower, readJson } from './parse.js';
import { chainUnreachable, gasRefused, json, rateLimited, refuse, unavailable, wrongChain } from './responses.js';
import type { Caller, Route } from './router.js';

export type PublishResult = PublishAnswer | GasRefusal;

/** The result of a dry run for one quote. */
export interface DryRunItem extends Omit<DryRunResult['quotes'][number], 'reasons'> {
  readonly reasons: readonly string[];
}

export type DryRunAnswer =
  { readonly type: 'CHECKED'; readonly items: readonly DryRunItem[] } | { readonly type: 'CHAIN_UNREACHABLE' };

/** Why nothing can be published: never by this service as it is configured, or not now. With words for the client. */
export interface PublishingRefusal {
  readonly code: 'no_wallet' | ReturnType<typeof delayCode>;
  readonly message: string;
}

export const NO_PUBLISHING_WALLET: PublishingRefusal = {
  code: 'no_wallet',
  message: 'No wallet is configured to publish with: set walletKey or walletKeyFile',
};

export interface QuotePublishing {
  /** Most quotes that a request of the caller may have, however long it waits before. */
  mostQuotes(caller: Caller): number;
  /** Takes so many quotes from what the caller has left. Returns 0, or for how many milliseconds there are too few. */
  takeQuotes(caller: Caller, count: number): number;
  /** Why nothing can be published now; null when it can. */
  refusal(): PublishingRefusal | null;
  /** `areOperators`: the operator's own quotes, which count for the caps of POST /orderbook/quotes as well. */
  submit(caller: Caller, quotes: readonly QuoteToPublish[], areOperators?: boolean): Promise<PublishResult>;
  /** Everything but the publication; needs no wallet. */
  dryRun(quotes: readonly QuoteToPublish[]): Promise<DryRunAnswer>;
}

export interface PublishRouteLimits {
  /** Objects, arrays and fields that a body may have. */
  readonly bodyParts: number;
  readonly queryPairs: number;
  readonly quotesPerRequest: number;
  readonly schemaErrors: number;
  /** Quotes of a batch that are no more than one turn's work. */
  readonly checksPerTurn: number;
}

/** POST /quotes, and with `dryRun=true` everything but the publication. */
export function publishRoute(
  publishing: QuotePublishing,
  quoteJson: QuoteJson,
  chainId: string,
  limits: PublishRouteLimits,
  /** Resolves after the other pending tasks of the event loop had their turn. */
  yieldToEventLoop: () => Promise<void>,
): Route {
  const checkBody = compile(onChain(postQuotesBody(limits.quotesPerRequest), chainId), limits.schemaErrors);

  const handle = withQuery(PostQuotesQuery, { limits }, async (request, caller, { dryRun }) => {
    const isDryRun = dryRun === 'true';
    const parsed = readJson(request.body, limits.bodyParts);
    if (!parsed.ok) return refuse(request, parsed.code, parsed.error);
    // A large batch is spread over turns of the event loop: about 5 us a quote to parse, and as much to check.
    const isLarge = Array.isArray(parsed.value) && parsed.value.length > limits.checksPerTurn;
    if (isLarge) await yieldToEventLoop();
    const body = checkBody(parsed.value);
    if (!body.ok) return refuse(request, 'invalid_parameter', body.errors);
    if (isLarge) await yieldToEventLoop();
    const foreign = body.value.findIndex((quote) => quote.chainId !== chainId);
    if (foreign >= 0) return wrongChain(request, chainId, foreign);
    const refusal = isDryRun ? null : publishing.refusal();
    if (refusal !== null) return publishingRefused(request, refusal);
    const overQuota = quotesRefused(request, publishing, caller, body.value.length);
    if (overQuota !== null) return overQuota;
    const quotes = body.value.map(toPublish);
    if (isLarge) await yieldToEventLoop();
    if (isDryRun) return dryRunAnswer(request, await publishing.dryRun(quotes));
    return answer(request, body.value, await publishing.submit(caller, quotes));
  });

  function dryRunAnswer(request: NetRequest, result: DryRunAnswer): NetResponse {
    if (result.type === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    return json(JSON.stringify({ quotes: result.items }));
  }

  async function answer(
    request: NetRequest,
    posted: readonly PostedQuoteJson[],
    result: PublishResult,
  ): Promise<NetResponse> {
    return result.type === 'ANSWERED' ? await render(posted, result.items) : notPublished(request, result);
  }

  async function render(posted: readonly PostedQuoteJson[], items: readonly PublishedItem[]): Promise<NetResponse> {
    const lists = { CREATED: [] as string[], EXISTS: [] as string[], FAILED: [] as string[] };
    for (const [i, item] of items.entries()) {
      if (i > 0 && i % limits.checksPerTurn === 0) await yieldToEventLoop();
      const text =
        item.type === 'FAILED'
          ? JSON.stringify({ reason: item.reason, quote: posted[i] })
          : quoteJson.encode(item.order, item.fillableSize);
      lists[item.type].push(text);
    }
    return publishedAnswer(lists);
  }

  return { method: 'POST', path: '/quotes', needsKey: true, takesQuotes: true, takesBatch: true, handle };
}

/** Takes so many quotes from what the caller has left, or says why not. */
export function quotesRefused(
  request: NetRequest,
  publishing: QuotePublishing,
  caller: Caller,
  count: number,
): NetResponse | null {
  const limit = publishing.mostQuotes(caller);
  if (count > limit) {
    // Not 429: such a request would never be accepted.
    const message = `must NOT have more than ${limit} items`;
    const error = { keyword: 'maxItems', instancePath: '', schemaPath: '#/maxItems', params: { limit }, message };
    return refuse(request, 'invalid_parameter', [error]);
  }
  const retryAfterMs = publishing.takeQuotes(caller, count);
  return retryAfterMs > 0 ? rateLimited(request, retryAfterMs) : null;
}

export function publishingRefused(request: NetRequest, { code, message }: PublishingRefusal): NetResponse {
  // A wallet that is not configured is not there the next second either.
  return code === 'no_wallet' ? refuse(request, code, message) : unavailable(request, code, message);
}

/** The answer with the texts of all quotes, by their outcome. */
export function publishedAnswer(lists: Readonly<Record<PublishedItem['type'], readonly string[]>>): NetResponse {
  const { CREATED, EXISTS, FAILED } = lists;
  const text = `{"created":[${CREATED.join(',')}],"failed":[${FAILED.join(',')}],"exists":[${EXISTS.join(',')}]}`;
  return json(text, CREATED.length > 0 ? 201 : 200);
}

/** The answer where nothing was published, or nothing is confirmed yet. */
export function notPublished(
  request: NetRequest,
  result: Exclude<PublishResult, { readonly type: 'ANSWERED' }>,
): NetResponse {
  switch (result.type) {
    case 'NOT_CONFIRMED':
      return refuse(request, 'publication_not_confirmed', {
        message: PUBLICATION_UNCONFIRMED,
        pending: [...result.pending],
      });
    case 'NO_GAS_MONEY':
      return unavailable(request, 'wallet_out_of_gas', `The wallet ${result.wallet} has no money for gas`);
    case 'OVER_BUDGET':
    case 'BEYOND_DAY':
    case 'SPEND_CAP':
    case 'OPERATOR_CAP':
    case 'STORAGE_FULL':
      return gasRefused(request, result);
    case 'QUEUE_FULL':
      return unavailable(request, 'publish_queue_full', 'Too many quotes wait for their publication');
    case 'CHAIN_UNREACHABLE':
      return chainUnreachable(request);
  }
}

function toPublish({
  poolKey,
  signature,
  provider,
  taker,
  price,
  size,
  isBuy,
  deadline,
  salt,
}: PostedQuoteJson): QuoteToPublish {
  return {
    poolKey: { ...poolKey, strike: BigInt(poolKey.strike) },
    provider: lower(provider),
    taker: lower(taker),
    price: BigInt(price),
    size: BigInt(size),
    isBuy,
    deadline,
    salt,
    signature: { r: lower(signature.r), s: lower(signature.s), v: signature.v },
  };
}
