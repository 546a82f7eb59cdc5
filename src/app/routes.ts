import { hash } from 'node:crypto';
import type { SignIn } from '../auth/sign-in.js';
import type { TakerAccess } from '../auth/taker-access.js';
import { basesOfVaults } from '../chain/contracts/vault-names.js';
import { FillPlans } from '../chain/options/fill-plans.js';
import { type OptionSeries, PoolListing, type PoolNames } from '../chain/options/option-series.js';
import { Oracles } from '../chain/options/oracles.js';
import type { Hex } from '../engine/quote.js';
import { EventPages } from '../feed/event-pages.js';
import type { Feed } from '../feed/feed.js';
import { accountRoutes } from '../http/account-routes.js';
import { authRoutes } from '../http/auth-routes.js';
import { coverRoute } from '../http/cover-route.js';
import { bookRoute, eventsRoute, tickersRoute } from '../http/feed-routes.js';
import { bookProofRoute, quoteHistoryRoute } from '../http/history-route.js';
import { marketRoutes } from '../http/market-routes.js';
import { poolRoutes, settlementRoutes } from '../http/options-routes.js';
import { type OracleQueries, oracleRoutes } from '../http/oracle-routes.js';
import { orderbookRoutes } from '../http/orderbook-routes.js';
import { protectionRoutes } from '../http/protection-routes.js';
import type { ConnectionTimers } from '../protection/open-connections.js';
import { publishRoute } from '../http/publish-route.js';
import { readableOrdersRoutes } from '../http/readable-orders-routes.js';
import type { LargeAnswerRunner } from '../http/responses.js';
import { rfqRoutes } from '../http/rfq-routes.js';
import { docsRoutes, pageRoutes } from '../http/static-routes.js';
import { statusRoutes } from '../http/status-routes.js';
import { tradingRoutes } from '../http/trading-routes.js';
import { rfqMessageRoutes, vaultRoute } from '../http/vault-routes.js';
import { withdrawalRoutes } from '../http/withdrawal-routes.js';
import type { OpenInterest } from '../market/open-interest.js';
import type { TradeHistory } from '../market/trade-history.js';
import { networkOf } from '../net/address.js';
import type { Quotas } from '../quota/rate-limits.js';
import type { UnknownKeyGuard } from '../quota/unknown-key-guard.js';
import { yieldToEventLoop } from '../system/timers.js';
import { QuoteJson } from '../wire/quote-json.js';
import type { ReadableJson } from '../wire/readable.js';
import { bookQueries, knownPool } from './book-views.js';
import { chainSeconds, type Core, reasonsNotReady } from './core.js';
import { coverQueries } from './feed-wiring.js';
import { apiDocuments, type ServedRoutes } from './http-wiring.js';
import { openValuations } from './options-wiring.js';
import type { ServiceOptions } from './service-options.js';

export interface RouteParts {
  readonly options: ServiceOptions;
  readonly core: Core;
  readonly feed: Feed;
  readonly chainId: string;
  readonly series: OptionSeries;
  readonly poolNames: PoolNames;
  readonly quoteJson: QuoteJson;
  readonly readableJson: ReadableJson;
  readonly takers: TakerAccess;
  readonly signIns: SignIn;
  readonly quotas: Pick<Quotas, 'takeRfqs'>;
  readonly unknownKeys: UnknownKeyGuard;
  /** Timers that run while a connection is open. */
  readonly connections: ConnectionTimers;
  readonly answers: LargeAnswerRunner;
  /** The same for costly reads of the chain: a node that is slow holds up no answer of the book. */
  readonly chainReads: LargeAnswerRunner;
  readonly trades: TradeHistory;
  readonly interest: OpenInterest;
}

/** Lists every group of routes, and gives each its ports. */
export function openRoutes(parts: RouteParts): ServedRoutes {
  const { options, core, feed, chainId, series, poolNames, quoteJson, takers, answers, chainReads, interest } = parts;
  const { profile, engine, keys, clock, limits, logger, traces } = options;
  const { records, chains, time, past, optionServices: services } = core;
  const { symbols } = series;
  const vaultBases = basesOfVaults(profile.vaults, symbols);
  const common = { chainId, limits, answers, takers, quoteJson };
  const book = bookQueries(engine, records);
  const whenDurable = (): Promise<void> | null => records.whenDurable();
  const operator = (): Hex | null => core.operatorAddress();
  const poolNamed = (instrument: string): Hex | null => poolNames.addressOf(instrument);
  const poolKey: OptionSeries['poolKey'] = (option, maturity) => series.poolKey(option, maturity);
  const poolAddressOf: Core['rfqs']['poolAddressOf'] = (poolKey) => core.rfqs.poolAddressOf(poolKey);
  const chainNow = chainSeconds(chains, time);
  const oracles = new Oracles(core.settlement, profile.contracts, series);
  const covers = coverQueries(feed, {
    isDeployed: (poolAddress) => engine.pool(poolAddress) !== undefined,
    poolNamed,
  });
  const listing = new PoolListing(() => engine.pools(), series, time.nowSeconds, limits.poolListingSeconds);
  const posting = publishRoute(core.publishing, quoteJson, chainId, limits, () => yieldToEventLoop(clock));
  const protecting = protectionRoutes({
    ...common,
    protections: core.protections,
    connections: parts.connections,
    state: engine.protections,
    whenDurable,
  });
  const routes = [
    ...orderbookRoutes({
      ...common,
      book,
      namedQuoteJson: new QuoteJson(chainId, limits.writtenQuotes, (pool) => series.instrument(pool)),
      digest: sha256Tag,
      past,
    }),
    eventsRoute({ ...common, events: new EventPages(feed, limits), poolNamed }),
    traces?.route(posting) ?? posting,
    ...withdrawalRoutes({
      ...common,
      withdrawals: core.withdrawals,
      ordersOf: (provider) => engine.ordersOf(provider),
      whenDurable,
    }),
    ...protecting.routes,
    tickersRoute({
      ...common,
      past,
      tickers: feed,
      valuations: openValuations(options, time, series, oracles, interest),
    }),
    ...poolRoutes(
      { list: (filter) => listing.list(filter), instruments: () => listing.instruments(), whenDurable },
      () => services()?.deployments ?? null,
      symbols,
      answers,
      limits,
    ),
    vaultRoute(() => services()?.vaults ?? null, symbols, limits),
    ...settlementRoutes(() => services()?.settlements ?? null, symbols, chainReads, limits),
    ...oracleRoutes({
      oracles: oracleQueries(oracles, series),
      symbols,
      vaultBases,
      nowSeconds: chainNow,
      limits,
    }),
    ...tradingRoutes({
      trading: () => services()?.trading ?? null,
      publishing: core.publishing,
      onPublished: ({ id }, txHash) =>
        logger.info({ keyId: id, route: 'POST /orderbook/quotes', txHash, succeeded: true }, 'operator wallet used'),
      readable: parts.readableJson,
      symbols,
      limits,
    }),
    ...accountRoutes({ accounts: core.accounts, operator, chainReads, chainId, limits }),
    ...rfqMessageRoutes({ symbols, chainId, operator, nowSeconds: chainNow, poolKey, limits }),
    ...rfqRoutes({
      ...common,
      covers,
      rfqs: engine.rfqs,
      desk: core.rfqs,
      takeRfqs: (caller, count) => parts.quotas.takeRfqs(caller, count),
      poolAddressOf,
      whenDurable,
      orderOf: (quoteId) => engine.get(quoteId),
    }),
    ...authRoutes({
      signIns: parts.signIns,
      selfService: {
        isOn: options.selfService === 'yes',
        strike: (remoteAddress) => parts.unknownKeys.strike(remoteAddress),
        networkId: (remoteAddress) => keys.networkId(networkOf(remoteAddress)),
      },
      chainId,
      limits,
    }),
    coverRoute({ ...common, covers, plans: new FillPlans(core.settlement, profile.contracts) }),
    bookRoute({
      ...common,
      past,
      books: feed,
      pools: {
        addressOf: poolNamed,
        instrumentAt(poolAddress) {
          const pool = knownPool(engine, poolAddress);
          return pool === undefined ? null : poolNames.nameOf(pool);
        },
      },
    }),
    quoteHistoryRoute({ ...common, past }),
    bookProofRoute({ ...common, past }),
    ...marketRoutes({
      ...common,
      trades: parts.trades,
      instrument: (pool) => series.instrument(pool),
      poolNamed,
      nowSeconds: time.nowSeconds,
    }),
    ...readableOrdersRoutes({
      ...common,
      book,
      readable: parts.readableJson,
      symbols,
      poolKey,
      poolAddressOf,
      nowSeconds: chainNow,
      operator,
    }),
    ...statusRoutes(() => reasonsNotReady(core)),
    ...docsRoutes(apiDocuments(limits, { chainId, symbols, vaultBases: [...vaultBases.keys()] })),
    ...pageRoutes({
      files: [],
      localKey: null,
      localRpcUrl: null,
      ...options.page,
      chainId,
      privacy: takers.privacy,
      router: profile.contracts.erc20Router.address,
    }),
  ];
  return { routes, socketOnly: protecting.socketOnly };
}

function oracleQueries(oracles: Oracles, series: OptionSeries): OracleQueries {
  return {
    dollarPrices: (asked) => oracles.dollarPrices(asked),
    volatilities(symbol, ...option) {
      const token = series.token(symbol);
      if (token === undefined) throw new Error(`There is no token ${symbol} on this chain`);
      return oracles.volatilities(token.address, ...option);
    },
  };
}

/** The one-shot `hash` takes half the time of `createHash(...).update(text).digest()`. */
function sha256Tag(text: string): string {
  return hash('sha256', text, 'base64url');
}
