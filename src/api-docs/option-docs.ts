import {
  poolsQuery,
  PoolsResult,
  postPoolsBody,
  PostPoolsResult,
  settleBody,
  SettleResult,
  vaultQuoteQuery,
  VaultQuoteResult,
} from '../wire/options.js';
import { ErrorBody } from '../wire/problem.js';
import { type AnswerDoc, BAD_REQUEST, type RouteDoc } from './route-doc.js';

export interface OptionDocLimits {
  readonly poolsPerRequest: number;
  readonly settlementsPerRequest: number;
}

const tag = 'Options';
const NO_WALLET: AnswerDoc = { about: 'No wallet is configured', schema: ErrorBody };
const UNREACHABLE: AnswerDoc = { about: 'The chain or the disk does not answer; try again', schema: ErrorBody };

/** Pools, vault quotes and settlement. `symbols`: those with a token on the chain that is served. */
export function optionDocs(
  symbols: readonly string[],
  { poolsPerRequest, settlementsPerRequest }: OptionDocLimits,
): RouteDoc[] {
  return [
    {
      method: 'GET',
      path: '/pools',
      needsKey: true,
      tag,
      summary: 'Pools deployed in the last 90 days that have not expired',
      query: poolsQuery(symbols),
      answers: { 200: { about: 'The pools', schema: PoolsResult }, 400: BAD_REQUEST },
    },
    {
      method: 'POST',
      path: '/pools',
      needsKey: true,
      tag,
      summary: 'Deploy pools',
      body: postPoolsBody(symbols, poolsPerRequest),
      answers: {
        200: { about: 'What became of each option', schema: PostPoolsResult },
        400: BAD_REQUEST,
        501: NO_WALLET,
        503: UNREACHABLE,
      },
    },
    {
      method: 'GET',
      path: '/vaults/quote',
      needsKey: true,
      tag,
      summary: 'The price of a trade against a vault',
      query: vaultQuoteQuery(symbols),
      answers: {
        200: { about: 'The price', schema: VaultQuoteResult },
        400: BAD_REQUEST,
        500: { about: '`Failed to get quote from vault`: it refused for a reason without a name', schema: ErrorBody },
        501: NO_WALLET,
        503: UNREACHABLE,
      },
    },
    {
      method: 'POST',
      path: '/pool/settle',
      needsKey: true,
      tag,
      summary: 'Settle expired positions',
      body: settleBody(symbols, settlementsPerRequest),
      answers: {
        200: { about: 'What became of each position', schema: SettleResult },
        400: BAD_REQUEST,
        501: NO_WALLET,
        503: UNREACHABLE,
      },
    },
  ];
}
