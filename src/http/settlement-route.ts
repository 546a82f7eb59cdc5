import type { NetRequest, NetResponse } from '../net/net.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import { type OptionTerms, settleBody, type SettleResult } from '../wire/options.js';
import { compile } from '../wire/validation.js';
import { json, refuse, unavailable } from './answer.js';
import { gasRefused } from './gas-refusal.js';
import { chainUnreachable, noWallet } from './option-refusals.js';
import { type OptionsBodyLimits, optionsReader } from './options-body.js';
import type { Caller, Route } from './router.js';

export type SettledItem = { readonly type: 'SETTLED' } | { readonly type: 'FAILED'; readonly reason: string };

export interface Settlements {
  /** Why nothing can be sent just now: what a wallet means to send is written down before. Null when it can. */
  refusal(): string | null;
  /** Items in the order of `options`. A refusal: nothing was settled. */
  settle(
    caller: Caller,
    options: readonly OptionTerms[],
  ): Promise<
    | { readonly type: 'ANSWERED'; readonly items: readonly SettledItem[] }
    | { readonly type: 'CHAIN_UNREACHABLE' }
    | GasRefusal
  >;
}

export interface SettlementRouteLimits extends OptionsBodyLimits {
  readonly settlementsPerRequest: number;
}

/** POST /pool/settle. `symbols`: those with a token here. `settlements`: null when there is no wallet. */
export function settlementRoute(
  settlements: Settlements | null,
  symbols: readonly string[],
  limits: SettlementRouteLimits,
): Route {
  const checkBody = compile(settleBody(symbols, limits.settlementsPerRequest), limits.schemaErrors);
  const readOptions = optionsReader(checkBody, limits);

  async function settle(request: NetRequest, caller: Caller): Promise<NetResponse> {
    const body = readOptions(request);
    if (!body.ok) return refuse(request, 400, body.error);
    if (settlements === null) return noWallet(request);
    const refusal = settlements.refusal();
    if (refusal !== null) return unavailable(request, refusal);
    const result = await settlements.settle(caller, body.terms);
    if (result.type === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    if (result.type !== 'ANSWERED') return gasRefused(request, result);
    const answer: SettleResult = { success: [], failed: [] };
    body.options.forEach((option, i) => {
      const item = result.items[i];
      if (item === undefined) throw new Error('An option has no outcome');
      if (item.type === 'SETTLED') answer.success.push(option);
      else answer.failed.push({ failedOption: option, reason: item.reason });
    });
    return json(JSON.stringify(answer));
  }

  return { method: 'POST', path: '/pool/settle', needsKey: true, handle: settle };
}
