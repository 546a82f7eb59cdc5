import type { Hex } from '../engine/quote.js';
import type { NetRequest, NetResponse } from '../net/net.js';
import type { PacedWork } from '../system/paced-work.js';
import { AccountQuery, WalletQuery } from '../wire/account.js';
import type { ChainRead, OptionBalance, TokenBalance } from '../wire/answers.js';
import { formatDecimal } from '../wire/primitives.js';
import { parseQuery } from '../wire/query.js';
import { withQuery } from './checked-input.js';
import { chainUnreachable, json, largeAnswer, type LargeAnswerRunner, noWallet } from './responses.js';
import type { Caller, Route, RouteHandler } from './router.js';

/** Queries of accounts' holdings on the settlement chain. */
export interface AccountQueries {
  /** Every token of the chain, in the order of its table. */
  collateral(wallet: Hex): Promise<ChainRead<readonly TokenBalance[]>>;
  /** Wei. */
  native(wallet: Hex): Promise<ChainRead<bigint>>;
  /** Positions above 0. Charges a row for each call of a contract. */
  options(wallet: Hex, work: Pick<PacedWork, 'charge'>): Promise<ChainRead<readonly OptionBalance[]>>;
}

export interface AccountRouteParts {
  readonly accounts: AccountQueries;
  /** The operator's address, for requests that name no wallet; null without a wallet. */
  readonly operator: () => Hex | null;
  /** Where positions are read, of one wallet at a time for each key: it takes two calls for each pool of the chain. */
  readonly chainReads: LargeAnswerRunner;
  /** The settlement chain's id in decimal digits. */
  readonly chainId: string;
  readonly limits: { readonly queryPairs: number; readonly schemaErrors: number };
}

const OPTION_BALANCES = ['/account/option_balance', '/account/option_balances'] as const;

/** GET /account/collateral_balances, /account/native_balance, /account/option_balance and /account/option_balances. */
export function accountRoutes({ accounts, operator, chainReads, chainId, limits }: AccountRouteParts): Route[] {
  /** Reads the container's form of the query, and answers for its wallet. */
  function forWallet(
    answer: (request: NetRequest, wallet: Hex, caller: Caller) => NetResponse | Promise<NetResponse>,
  ): RouteHandler<Caller> {
    return withQuery(AccountQuery, { limits }, (request, caller, { walletAddr }) => {
      const wallet = walletAddr ?? operator();
      return wallet === null ? noWallet(request) : answer(request, wallet, caller);
    });
  }

  const collateral = forWallet(async (request, wallet) => {
    const read = await accounts.collateral(wallet);
    if (read.type !== 'READ') return chainUnreachable(request);
    const success: string[] = [];
    const failed: object[] = [];
    for (const item of read.value) {
      const { symbol } = item;
      if ('reason' in item) failed.push({ token: symbol, reason: item.reason });
      else {
        const named = JSON.stringify({ token_address: item.address, symbol }).slice(0, -1);
        success.push(`${named},"balance":${formatDecimal(item.units, item.decimals)}}`);
      }
    }
    return json(`{"success":[${success.join(',')}],"failed":${JSON.stringify(failed)}}`);
  });

  const native = forWallet(async (request, wallet) => {
    const read = await accounts.native(wallet);
    return read.type === 'READ' ? json(formatDecimal(read.value, 18)) : chainUnreachable(request);
  });

  function positions(request: NetRequest, wallet: Hex, caller: Caller): NetResponse | Promise<NetResponse> {
    return largeAnswer(chainReads, request, caller, (work) => readPositions(request, wallet, work));
  }

  async function readPositions(request: NetRequest, wallet: Hex, work: PacedWork): Promise<NetResponse> {
    const read = await accounts.options(wallet, work);
    if (read.type !== 'READ') return chainUnreachable(request);
    const lists = { open: [] as string[], expired: [] as string[] };
    for (const { poolAddress, amount, name, exposure, isOpen } of read.value) {
      const rest = JSON.stringify({ name, exposure }).slice(1);
      const text = `{"token_address":"${poolAddress}","amount":${formatDecimal(amount, 18)},${rest}`;
      lists[isOpen ? 'open' : 'expired'].push(text);
    }
    return json(`{"open":[${lists.open.join(',')}],"expired":[${lists.expired.join(',')}]}`);
  }

  const positionsOfAccount = forWallet(positions);
  const positionsOfWallet = withQuery(WalletQuery, { chainId, limits }, (request, caller, { wallet }) =>
    positions(request, wallet, caller),
  );

  /** The cloud's form of the query, where the request names a chain or a wallet as the cloud does. */
  function optionBalances(request: NetRequest, caller: Caller): NetResponse | Promise<NetResponse> {
    const parsed = parseQuery(request.query, { maxPairs: limits.queryPairs });
    const isCloudForm =
      request.path === OPTION_BALANCES[0] || (parsed.ok && ('chainId' in parsed.value || 'wallet' in parsed.value));
    return isCloudForm ? positionsOfWallet(request, caller) : positionsOfAccount(request, caller);
  }

  return [
    { method: 'GET', path: '/account/collateral_balances', needsKey: true, handle: collateral },
    { method: 'GET', path: '/account/native_balance', needsKey: true, handle: native },
    ...OPTION_BALANCES.map((path): Route => ({ method: 'GET', path, needsKey: true, handle: optionBalances })),
  ];
}
