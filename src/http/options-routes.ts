import type { Hex, Pool } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import { type PacedWork, UNPACED } from '../system/paced-work.js';
import { parseExpiration } from '../wire/expiration.js';
import {
  type InstrumentJson,
  NoQuery,
  type Option,
  type OptionTerms,
  poolJson,
  poolsQuery,
  postPoolsBody,
  readOption,
  settleBody,
  type SettleResponse,
} from '../wire/options.js';
import type { DeployedItem, SettledItem } from '../wire/answers.js';
import { formatDecimal } from '../wire/primitives.js';
import { withAmounts, withQuery } from './checked-input.js';
import {
  BAD_EXPIRATION,
  chainUnreachable,
  gasRefused,
  json,
  largeAnswer,
  type LargeAnswerRunner,
  notNow,
  noWallet,
  rateLimited,
  refuse,
} from './responses.js';
import type { Caller, Route } from './router.js';

export interface PoolQueries {
  /** Listed pools that pass every filter; `maturity` in Unix seconds. */
  list(filter: { base?: string; quote?: string; maturity?: number }): readonly (OptionTerms & { poolAddress: Hex })[];
  /** Every pool with a name that has not expired. */
  instruments(): readonly { readonly instrument: string; readonly pool: Pool }[];
  /** Null when all that can be read is durable; else wait before telling anyone. */
  whenDurable(): Promise<void> | null;
}

export interface PoolDeployments {
  /** Why no pool can be deployed and listed just now; null when one can. */
  refusal(): string | null;
  /** Items in the order of `options`. A refusal: nothing was deployed. */
  deploy(
    caller: Caller,
    options: readonly OptionTerms[],
  ): Promise<
    | { readonly type: 'ANSWERED'; readonly items: readonly DeployedItem[] }
    | { readonly type: 'CHAIN_UNREACHABLE' }
    | GasRefusal
  >;
}

export interface PoolRouteLimits extends OptionsBodyLimits {
  readonly poolsPerRequest: number;
  readonly rowsPerSlice: number;
}

/** GET /instruments, GET /pools and POST /pools. `symbols`: those with a token here. `deployments`: null while there is no wallet. */
export function poolRoutes(
  pools: PoolQueries,
  deployments: () => PoolDeployments | null,
  symbols: readonly string[],
  answers: LargeAnswerRunner,
  limits: PoolRouteLimits,
): Route[] {
  async function listed<T>(
    request: NetRequest,
    caller: Caller,
    items: readonly T[],
    write: (item: T) => string,
  ): Promise<NetResponse> {
    const answer = async (work: PacedWork): Promise<NetResponse> => {
      const text = `[${items.map(write).join(',')}]`;
      work.charge(items.length, text.length);
      await pools.whenDurable();
      return json(text);
    };
    return items.length < limits.rowsPerSlice ? answer(UNPACED) : largeAnswer(answers, request, caller, answer);
  }

  const list = withQuery(poolsQuery(symbols), { limits }, (request, caller, { expiration, ...filter }) => {
    const maturity = expiration === undefined ? undefined : parseExpiration(expiration);
    if (maturity === null) return refuse(request, BAD_EXPIRATION, `Invalid expiration date: ${expiration ?? ''}`);
    const found = pools.list({ ...filter, ...(maturity !== undefined && { maturity }) });
    return listed(request, caller, found, (pool) => poolJson(pool, pool.poolAddress));
  });

  const listInstruments = withQuery(NoQuery, { limits }, (request, caller) =>
    listed(request, caller, pools.instruments(), (each) => JSON.stringify(instrumentJson(each))),
  );

  const body = postPoolsBody(symbols, limits.poolsPerRequest);
  const deploy = withAmounts(body, { limits }, async (request, caller, options) => {
    const wallet = deployments();
    if (wallet === null) return noWallet(request);
    const refusal = wallet.refusal();
    if (refusal !== null) return notNow(request, refusal);
    const asked = options.map(readOption);
    const result = await wallet.deploy(caller, asked);
    if (result.type === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    if (result.type !== 'ANSWERED') return gasRefused(request, result);
    const lists = { CREATED: [] as string[], EXISTED: [] as string[], FAILED: [] as string[] };
    options.forEach((option, i) => {
      const [item, terms] = [result.items[i], asked[i]];
      if (item === undefined || terms === undefined) throw new Error('An option has no outcome');
      // A pool is named as GET /pools will name it, a failed option as it was posted.
      const named = { ...terms, expiration: terms.expiration.toUpperCase() };
      const text =
        item.type === 'FAILED' ? JSON.stringify({ ...option, reason: item.reason }) : poolJson(named, item.poolAddress);
      lists[item.type].push(text);
    });
    const { CREATED, EXISTED, FAILED } = lists;
    return json(`{"created":[${CREATED.join(',')}],"existed":[${EXISTED.join(',')}],"failed":[${FAILED.join(',')}]}`);
  });

  return [
    { method: 'GET', path: '/pools', needsKey: true, handle: list },
    { method: 'GET', path: '/instruments', needsKey: true, handle: listInstruments },
    { method: 'POST', path: '/pools', needsKey: true, takesBatch: true, handle: deploy },
  ];
}

function instrumentJson({ instrument, pool }: ReturnType<PoolQueries['instruments']>[number]): InstrumentJson {
  const { poolAddress, poolKey } = pool;
  const { strike, maturity } = poolKey;
  return {
    instrument,
    poolAddress,
    poolKey: { ...poolKey, strike: strike.toString() },
    expiry: maturity,
    strike: formatDecimal(strike, 18),
  };
}

export interface Settlements {
  /** Why nothing can be sent just now: what a wallet means to send is written down before. Null when it can. */
  refusal(): string | null;
  /** Items in the order of `options`. A refusal: nothing was settled. */
  settle(caller: Caller, options: readonly OptionTerms[]): Promise<SettlementsResult>;
  /** The same for longs alone. */
  exercise(caller: Caller, options: readonly OptionTerms[]): Promise<SettlementsResult>;
  /** The same for pairs of longs and shorts, before or after maturity. */
  annihilate(caller: Caller, options: readonly OptionTerms[]): Promise<SettlementsResult>;
}

export type SettlementsResult =
  | { readonly type: 'ANSWERED'; readonly items: readonly SettledItem[] }
  | { readonly type: 'CHAIN_UNREACHABLE' }
  | GasRefusal;

export interface SettlementRouteLimits extends OptionsBodyLimits {
  readonly settlementsPerRequest: number;
}

type Close = 'settle' | 'exercise' | 'annihilate';

/** One for the pool's address, two for its balances. */
const CALLS_PER_OPTION = 3;

/**
 * POST /pool/settle, /pool/exercise and /pool/annihilate. `symbols`: those with a token here. `settlements`: null while
 * there is no wallet. `chainReads`: where a key waits until it has paid for the calls of its earlier requests.
 */
export function settlementRoutes(
  settlements: () => Settlements | null,
  symbols: readonly string[],
  chainReads: LargeAnswerRunner,
  limits: SettlementRouteLimits,
): Route[] {
  const body = settleBody(symbols, limits.settlementsPerRequest);

  async function answer(request: NetRequest, caller: Caller, options: Option[], close: Close): Promise<NetResponse> {
    const wallet = settlements();
    if (wallet === null) return noWallet(request);
    // Charged before, and outside of the line of costly reads: transactions may take minutes.
    const turn = chainReads.run(caller, (work) => work.charge(options.length * CALLS_PER_OPTION, 0));
    if ('retryAfterMs' in turn) return rateLimited(request, turn.retryAfterMs);
    await turn;
    const refusal = wallet.refusal();
    if (refusal !== null) return notNow(request, refusal);
    const result = await wallet[close](caller, options.map(readOption));
    if (result.type === 'CHAIN_UNREACHABLE') return chainUnreachable(request);
    if (result.type !== 'ANSWERED') return gasRefused(request, result);
    const response: SettleResponse = { success: [], failed: [] };
    options.forEach((option, i) => {
      const item = result.items[i];
      if (item === undefined) throw new Error('An option has no outcome');
      if (item.type === 'SETTLED') response.success.push(option);
      else response.failed.push({ failedOption: option, reason: item.reason });
    });
    return json(JSON.stringify(response));
  }

  return (['settle', 'exercise', 'annihilate'] as const).map((close) => ({
    method: 'POST',
    path: `/pool/${close}`,
    needsKey: true,
    takesBatch: true,
    ...(close !== 'settle' && { scope: 'operator' }),
    handle: withAmounts(body, { limits }, (request, caller, options) => answer(request, caller, options, close)),
  }));
}

interface OptionsBodyLimits {
  /** Objects, arrays and fields that a body may have. */
  readonly bodyParts: number;
  readonly queryPairs: number;
  readonly schemaErrors: number;
}
