import type { SignIn } from '../auth/sign-in.js';
import type { TakerAccess } from '../auth/taker-access.js';
import { FillPlans } from '../chain/options/fill-plans.js';
import type { OptionSeries, PoolNames } from '../chain/options/option-series.js';
import type { Oracles } from '../chain/options/oracles.js';
import type { Hex } from '../engine/quote.js';
import type { Feed } from '../feed/feed.js';
import { authRoutes } from '../http/auth-routes.js';
import { coverRoute } from '../http/cover-route.js';
import { bookRoute } from '../http/feed-routes.js';
import { bookProofRoute, quoteHistoryRoute } from '../http/history-route.js';
import { marketRoutes } from '../http/market-routes.js';
import { readableOrdersRoutes } from '../http/readable-orders-routes.js';
import type { LargeAnswerRunner } from '../http/responses.js';
import { rfqRoutes } from '../http/rfq-routes.js';
import type { Route } from '../http/router.js';
import type { TradeHistory } from '../market/trade-history.js';
import { networkOf } from '../net/address.js';
import type { Quotas } from '../quota/rate-limits.js';
import type { UnknownKeyGuard } from '../quota/unknown-key-guard.js';
import type { QuoteJson } from '../wire/quote-json.js';
import type { ReadableJson } from '../wire/readable.js';
import { chainSeconds, type Core } from './core.js';
import { coverQueries, knownPool } from './engine-ports.js';
import { bookQueries } from './http-wiring.js';
import { createOptionRoutes } from './options-wiring.js';
import type { ServiceOptions } from './service-options.js';

export interface ServiceRoutesParts {
  readonly options: ServiceOptions;
  readonly core: Core;
  readonly feed: Feed;
  readonly chainId: string;
  readonly series: OptionSeries;
  readonly oracles: Oracles;
  readonly poolNames: PoolNames;
  readonly quoteJson: QuoteJson;
  readonly readableJson: ReadableJson;
  readonly takers: TakerAccess;
  readonly signIns: SignIn;
  readonly quotas: Pick<Quotas, 'takeRfqs'>;
  readonly unknownKeys: UnknownKeyGuard;
  readonly largeAnswers: LargeAnswerRunner;
  readonly trades: TradeHistory;
}

/** The routes whose ports are made of more than the book: options, requests for quotes, sign-in, the past, the market. */
export function openServiceRoutes(parts: ServiceRoutesParts): Route[] {
  const { options, core, feed, chainId, series, oracles, poolNames, quoteJson, readableJson, takers } = parts;
  const answers = parts.largeAnswers;
  const { profile, engine, keys, limits } = options;
  const { records, past } = core;
  const poolNamed = (instrument: string): Hex | null => poolNames.addressOf(instrument);
  const covers = coverQueries(feed, {
    isDeployed: (poolAddress) => engine.pool(poolAddress) !== undefined,
    poolNamed,
  });
  return [
    ...createOptionRoutes({
      ...options,
      ...core,
      series,
      oracles,
      readable: readableJson,
      services: core.optionServices,
    }),
    ...rfqRoutes({
      covers,
      takers,
      rfqs: engine.rfqs,
      desk: core.rfqs,
      takeRfqs: (caller, count) => parts.quotas.takeRfqs(caller, count),
      poolAddressOf: (poolKey) => core.rfqs.poolAddressOf(poolKey),
      whenDurable: () => records.whenDurable(),
      orderOf: (quoteId) => engine.get(quoteId),
      quoteJson,
      chainId,
      answers,
      limits,
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
    coverRoute({
      covers,
      takers,
      plans: new FillPlans(core.settlement, profile.contracts),
      quoteJson,
      chainId,
      limits,
    }),
    bookRoute(
      feed,
      {
        addressOf: (addressOrName) => poolNames.addressOf(addressOrName),
        instrumentAt(poolAddress) {
          const pool = knownPool(engine, poolAddress);
          return pool === undefined ? null : poolNames.nameOf(pool);
        },
      },
      chainId,
      limits,
      { past, answers },
    ),
    quoteHistoryRoute(past, limits, answers, takers),
    bookProofRoute(past, chainId, limits, answers),
    ...marketRoutes({
      trades: parts.trades,
      instrument: (pool) => series.instrument(pool),
      poolNamed,
      nowSeconds: core.time.nowSeconds,
      chainId,
      answers,
      limits,
    }),
    ...readableOrdersRoutes({
      takers,
      book: bookQueries(engine, records),
      readable: readableJson,
      symbols: series.symbols,
      poolKey: (option, maturity) => series.poolKey(option, maturity),
      poolAddressOf: (poolKey) => core.rfqs.poolAddressOf(poolKey),
      nowSeconds: chainSeconds(core.chains, core.time),
      operator: () => core.operatorAddress(),
      answers,
      limits,
    }),
  ];
}
