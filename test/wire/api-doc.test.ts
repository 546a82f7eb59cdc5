import t from 'tap';
import type { TSchema } from 'typebox';
import { CollateralBalances, OptionBalances } from '../../src/wire/account.js';
import { EventsPage, TickersResult } from '../../src/wire/feed-messages.js';
import {
  PoolsResult,
  postPoolsBody,
  PostPoolsResult,
  SettleResponse,
  VaultQuoteResult,
} from '../../src/wire/options.js';
import { DryRunResult, ordersBody, OrdersResponse, PostQuotesResult, QuotesResult } from '../../src/wire/orderbook.js';
import { SchemaErrors } from '../../src/wire/problem.js';
import {
  AuthorizationBody,
  AuthorizationsResult,
  FillLimitBody,
  FillLimitsResult,
  HeartbeatBody,
  TimerResult,
} from '../../src/wire/protections.js';
import { PostRfqBody, RfqCompetition, RfqCover, RfqsResult } from '../../src/wire/rfq.js';
import { RfqByPoolKeyMessage } from '../../src/wire/socket.js';
import {
  ApprovalsResult,
  CancelQuotesResult,
  fillQuotesBody,
  FillQuotesResult,
  newQuotesBody,
  NewQuotesResult,
  vaultTradeBody,
  VaultTradeResult,
} from '../../src/wire/trading.js';
import { compile } from '../../src/wire/validation.js';
import {
  RestoreQuotesResult,
  withdrawalBody,
  WithdrawnQuotesPage,
  WithdrawQuotesResult,
} from '../../src/wire/withdrawals.js';
import { readDocument } from '../app/read-document.js';

const text = readDocument('docs/reference/api.md');

/** By what stands behind the fence's `json`. */
const schemas: Readonly<Record<string, TSchema>> = {
  'GET /quotes 200': QuotesResult,
  'GET /orders 200': OrdersResponse,
  'GET /orders limit 200': OrdersResponse,
  'POST /orders/query request': ordersBody(1000),
  'POST /rfqs request': PostRfqBody,
  'POST /rfqs 201': RfqsResult,
  'GET /rfqs/cover 200': RfqCover,
  'GET /rfqs/competition 200': RfqCompetition,
  'GET /tickers 200': TickersResult,
  'GET /events 200': EventsPage,
  'POST /quotes 200': PostQuotesResult,
  'POST /quotes dryRun 200': DryRunResult,
  'DELETE /quotes request': withdrawalBody(500),
  'DELETE /quotes 200': WithdrawQuotesResult,
  'GET /quotes/withdrawn 200': WithdrawnQuotesPage,
  'POST /quotes/restore 200': RestoreQuotesResult,
  'POST /authorizations request': AuthorizationBody,
  'GET /authorizations 200': AuthorizationsResult,
  'POST /heartbeat request': HeartbeatBody,
  'POST /heartbeat 200': TimerResult,
  'POST /fill_limits request': FillLimitBody,
  'GET /fill_limits 200': FillLimitsResult,
  'GET /pools 200': PoolsResult,
  'POST /pools request': postPoolsBody(['testWETH', 'USDC'], 100),
  'POST /pools 200': PostPoolsResult,
  'GET /vaults/quote 200': VaultQuoteResult,
  'GET /account/collateral_balances 200': CollateralBalances,
  'GET /account/option_balances 200': OptionBalances,
  'GET /rfq/message 200': RfqByPoolKeyMessage,
  'POST /pool/settle 200': SettleResponse,
  'POST /orderbook/quotes request': newQuotesBody(['WETH', 'USDC'], 500),
  'POST /orderbook/quotes 201': NewQuotesResult,
  'PATCH /orderbook/quotes request': fillQuotesBody(25),
  'PATCH /orderbook/quotes 200': FillQuotesResult,
  'DELETE /orderbook/quotes 200': CancelQuotesResult,
  'POST /account/collateral_approval 200': ApprovalsResult,
  'POST /vaults/trade request': vaultTradeBody(['WETH', 'USDC']),
  'POST /vaults/trade 200': VaultTradeResult,
  '400': SchemaErrors,
};

t.test('each example of a body is what the schemas say', async (t) => {
  for (const [name, schema] of Object.entries(schemas)) {
    const [, example] = new RegExp(`\`\`\`json ${name}\\n([^]*?)\`\`\``).exec(text) ?? [];
    t.strictSame(compile(schema, 5)(JSON.parse(example ?? 'null')).ok, true, name);
  }
});
