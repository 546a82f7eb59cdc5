import type { TakerAccess } from '../auth/taker-access.js';
import type { Hex } from '../engine/quote.js';
import type { Cover, CoverLeg } from '../feed/cover.js';
import type { CoverRequest } from '../feed/filters.js';
import { CoverQuery, type CoverTerms } from '../wire/orderbook.js';
import type { CoverPlan, FillCosts } from '../wire/answers.js';
import type { QuoteJson } from '../wire/quote-json.js';
import { withQuery } from './checked-input.js';
import { lowerOrNull } from './parse.js';
import { chainUnreachable, json, poolOf, refuse, takerRefusal } from './responses.js';
import type { Route } from './router.js';

export interface CoverQueries {
  readonly epoch: string;
  /** Number and time of the last event that `cover` shows. */
  at(): { readonly seq: number; readonly tsMs: number };
  /** As the committed events leave the quotes. */
  cover(request: CoverRequest): Cover;
  isDeployed(poolAddress: Hex): boolean;
  /** Null: no deployed pool has the name. */
  poolNamed(instrument: string): Hex | null;
}

export interface FillPlanner {
  plan(parts: readonly CoverLeg[], taker: Hex | null): Promise<CoverPlan | 'CHAIN_UNREACHABLE' | 'FAILED'>;
}

export interface CoverRouteParts {
  readonly covers: CoverQueries;
  readonly plans: FillPlanner;
  readonly quoteJson: QuoteJson;
  readonly takers: TakerAccess;
  readonly chainId: string;
  readonly limits: { readonly queryPairs: number; readonly schemaErrors: number };
}

/** GET /quotes/cover: the best quotes for a size, with what a taker has to approve and to send. */
export function coverRoute({ covers, plans, quoteJson, takers, chainId, limits }: CoverRouteParts): Route {
  const handle = withQuery(CoverQuery, { chainId, limits }, async (request, caller, query) => {
    const { side, size } = query;
    const refusal = takerRefusal(request, takers, caller, query.taker);
    if (refusal !== null) return refusal;
    const poolAddress = poolOf(request, query, (instrument) => covers.poolNamed(instrument));
    if (typeof poolAddress !== 'string') return poolAddress;
    const taker = lowerOrNull(query.taker);
    const provider = lowerOrNull(query.provider);
    const { epoch } = covers;
    const { seq, tsMs } = covers.at();
    const cover = covers.cover({ poolAddress, side, size: BigInt(size), taker, provider });
    const isDeployed = covers.isDeployed(poolAddress);
    const plan = await plans.plan(cover.legs, taker);
    if (plan === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    if (plan === 'FAILED') return refuse(request, 'contract_call_failed', 'Failed to get the fees of the quotes');
    const head = {
      epoch,
      asOfSeq: seq,
      tsMs,
      isDeployed,
      covered: cover.covered.toString(),
      shortfall: cover.shortfall.toString(),
      averagePrice: cover.averagePrice?.toString() ?? null,
      worstPrice: cover.worstPrice?.toString() ?? null,
      deadline: cover.deadline,
      approval: plan.approval && { ...plan.approval, amount: plan.approval.amount.toString() },
      bundle: plan.bundle,
    } satisfies Omit<CoverTerms, 'legs'>;
    const legs = plan.legs.map((terms, i) => legJson(cover.legs[i], terms, quoteJson));
    return json(`${JSON.stringify(head).slice(0, -1)},"legs":[${legs.join(',')}]}`);
  });

  return { method: 'GET', path: '/quotes/cover', needsKey: true, handle };
}

function legJson(leg: CoverLeg | undefined, terms: FillCosts, quoteJson: QuoteJson): string {
  if (leg === undefined) throw new Error('a plan has the legs of its cover');
  const { premium, fee, collateral, pays, call } = terms;
  const head = {
    take: leg.take.toString(),
    premium: premium.toString(),
    fee: fee.toString(),
    collateral: collateral.toString(),
    pays: pays.toString(),
    call,
  } satisfies Omit<CoverTerms['legs'][number], 'quote'>;
  return `${JSON.stringify(head).slice(0, -1)},"quote":${quoteJson.encodeQuote(leg.quote, leg.fillableSize)}}`;
}
