import type { KeyStore } from '../auth/key-store.js';
import { LocalProofStore, type ProofStore } from '../auth/proof-store.js';
import { QuoteDigest } from '../auth/quote-signature.js';
import { SignIn } from '../auth/sign-in.js';
import { TakerAccess } from '../auth/taker-access.js';
import { acceptsSignature } from '../chain/contracts/contract-signature.js';
import { FillPlans } from '../chain/options/fill-plans.js';
import { OptionSeries, PoolNames } from '../chain/options/option-series.js';
import { eventsBefore } from '../feed/event-history.js';
import { EventPages } from '../feed/event-pages.js';
import { TopicIndex } from '../feed/topic-index.js';
import { authRoutes } from '../http/auth-routes.js';
import { bookRoute } from '../http/feed-routes.js';
import { coverRoute } from '../http/cover-route.js';
import { rfqRoutes } from '../http/rfq-routes.js';
import { rfqStatusMessages } from '../rfq/rfq-json.js';
import type { CancelTimer } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { bookProofRoute, quoteHistoryRoute } from '../http/history-route.js';
import { marketRoutes } from '../http/market-routes.js';
import { readableOrdersRoutes } from '../http/readable-orders-routes.js';
import { FollowedInterest } from '../market/open-interest.js';
import { TradeHistory } from '../market/trade-history.js';
import { TradeRecorder } from '../market/trade-recorder.js';
import { measuredCalls } from '../metrics/instrument.js';
import { networkOf } from '../net/address.js';
import { CloseCode, type NetServer } from '../net/net.js';
import { TurnBudget } from '../quota/turn-budget.js';
import { LargeAnswers } from '../quota/large-answers.js';
import { Quotas, type QuotaTable } from '../quota/rate-limits.js';
import { UnknownKeyGuard } from '../quota/unknown-key-guard.js';
import { QuoteJson } from '../wire/quote-json.js';
import { ReadableJson } from '../wire/readable.js';
import { Gateway } from '../ws/gateway.js';
import { PlainPublisher, plainForm, readableForm } from '../ws/publisher.js';
import { countPastFills, coverQueries, knownPool, openFeed } from './engine-ports.js';
import { bookQueries, createHttp, type HttpWiring, openNetwork, openRequestWatch } from './http-wiring.js';
import { chainsJson, measuredOptions, measuredPublish, measureEngine, timeFanOut } from './metrics-wiring.js';
import { createOptionRoutes, openInterestOf, openValuations } from './options-wiring.js';
import type { ServiceOptions } from './service-options.js';
import { openLocalCore } from './local-core.js';
import { OpenConnections } from './open-connections.js';

export interface Service {
  readonly port: number;
  /** Null: there is no second listener. */
  readonly containerPort: number | null;
  readonly backend: string;
  readonly library: NetServer['library'];
  readonly routes: HttpWiring['routes'];
  /** Resolves when both chains have been read to their heads. */
  readonly ready: Promise<void>;
  /** Other quotas from now on; sockets beyond them are closed. */
  adoptQuotas(table: QuotaTable): void;
  /** Takes nothing new, finishes what is under way, closes sockets with 1012, and resolves when all is still. */
  stop(): Promise<void>;
}

/** A proof given here, or the end of a session here, counts from the next request on. */
function shownAtOnce(proofs: ProofStore, keys: KeyStore): ProofStore {
  return {
    spend: (use) => proofs.spend(use),
    async prove(...proof) {
      const result = await proofs.prove(...proof);
      if (result === 'PROVEN') await keys.refresh();
      return result;
    },
    async signOut(session) {
      const result = await proofs.signOut(session);
      if (result === 'SIGNED_OUT') await keys.refresh();
      return result;
    },
    async addSelfKey(added) {
      const result = await proofs.addSelfKey(added);
      await keys.refresh();
      return result;
    },
    noteUses: (uses) => proofs.noteUses(uses),
  };
}

/** Assembles one service over its ports and starts it. Rejects when its port is taken; then nothing is left running. */
export async function startService(given: ServiceOptions): Promise<Service> {
  const { metrics } = given;
  const options = metrics === null ? given : measuredOptions(given, metrics);
  const { profile, engine, keys, clock, random, limits, logger } = options;
  const chainId = String(profile.settlement.chainId);

  const { history } = options;
  // First of all: when the log fails here, nothing is left running.
  const start = { index: engine.index, seq: engine.seq, tsMs: engine.tsMs };
  const recent = history === null ? [] : await eventsBefore(engine, history, limits.recentEvents);

  const quotas = new Quotas(options.tierQuotas, limits.answerBurstSeconds, (quota, tier) =>
    metrics?.refusedByQuota.labels(quota, tier).inc(),
  );
  const core = await (options.openCore ?? openLocalCore)(options, quotas, logFault);
  const { chains, records, ready } = core;

  const quoteJson = new QuoteJson(chainId, limits.writtenQuotes);
  const series = new OptionSeries(profile);
  const namedQuoteJson = new QuoteJson(chainId, limits.writtenQuotes, (pool) => series.instrument(pool));
  const digests = new QuoteDigest(profile.settlement.chainId, limits.poolCache);
  const topics = { plain: new TopicIndex(chainId), readable: new TopicIndex(chainId, 'readable ') };
  const feed = openFeed(options, {
    chainId,
    recent,
    quoteJson: new QuoteJson(chainId, limits.writtenQuotes, (pool) => series.instrument(pool) ?? undefined),
    keccak256: (bytes) => digests.keccak256(bytes),
    publish(topic, message, isBinary) {
      publish(topic, message, isBinary);
      hub.published(message.length);
    },
  });
  const poolNames = new PoolNames(() => engine.pools(), series);
  const turns = new TurnBudget(clock, limits.slicesPerTurn);
  const unknownKeys = new UnknownKeyGuard(limits, clock);
  const takers = new TakerAccess(options.privacy ?? 'open', () => core.operatorAddress());
  const proofs = core.proofs === null ? new LocalProofStore(keys, clock, limits) : shownAtOnce(core.proofs, keys);
  const signIns = new SignIn({
    chainId: profile.settlement.chainId,
    domains: options.signInDomains ?? [],
    nonces: keys.sealed('nonce'),
    proofs,
    newKey: () => keys.newKey(),
    startSession: (...session) => keys.startSession(...session),
    sessionOf: (token) => keys.sessionOf(token),
    isContractSignature: (...signed) => acceptsSignature(core.settlement, ...signed),
    clock,
    random,
    limits,
  });
  const connections = new OpenConnections(core.protections, clock, logFault);
  const hub = new Gateway({
    chainId,
    takers,
    topics,
    feed,
    chains: () => chainsJson(chains, clock),
    keys: {
      verify: (apiKey) => keys.verify(apiKey),
      strike: (remoteAddress) => unknownKeys.strike(remoteAddress),
    },
    quotas,
    turns,
    rfqs: core.rfqs,
    poolNamed: (instrument) => poolNames.addressOf(instrument),
    carryOutCall: (...call) => carryOutCall(...call),
    clock,
    corsOrigins: options.corsOrigins,
    limits,
    onFault: logFault,
  });
  const largeAnswers = new LargeAnswers(quotas, turns, clock);
  const covers = coverQueries(feed, {
    isDeployed: (poolAddress) => engine.pool(poolAddress) !== undefined,
    poolNamed: (instrument) => poolNames.addressOf(instrument),
  });
  const ofRfqs = { orderOf: (quoteId: Hex) => engine.get(quoteId), quoteJson };
  const optionRoutes = [
    ...createOptionRoutes({ ...options, ...core, services: core.optionServices }),
    ...rfqRoutes({
      covers,
      takers,
      rfqs: engine.rfqs,
      desk: core.rfqs,
      poolAddressOf: (poolKey) => core.rfqs.poolAddressOf(poolKey),
      whenDurable: () => records.whenDurable(),
      ...ofRfqs,
      chainId,
      answers: largeAnswers,
      limits,
    }),
    ...authRoutes({
      signIns,
      selfService: {
        isOn: options.selfService === 'yes',
        strike: (remoteAddress) => unknownKeys.strike(remoteAddress),
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
  ];
  const nowSeconds = (): number => Math.floor(core.time.nowMs() / 1000);
  const readableJson = new ReadableJson({ optionOf: (poolKey) => series.optionOf(poolKey), nowSeconds });
  const files = options.tradeFiles ?? null;
  const recorder = files === null ? null : new TradeRecorder(files, clock, limits, logger);
  const trades = new TradeHistory(
    limits,
    files === null || recorder === null ? null : { files, recorder, clock, logger },
  );
  optionRoutes.push(
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
      { past: core.past, answers: largeAnswers },
    ),
    quoteHistoryRoute(core.past, limits, largeAnswers, takers),
    bookProofRoute(core.past, chainId, limits, largeAnswers),
    ...marketRoutes({
      trades,
      instrument: (pool) => series.instrument(pool),
      poolNamed: (instrument) => poolNames.addressOf(instrument),
      nowSeconds,
      chainId,
      answers: largeAnswers,
      limits,
    }),
    ...readableOrdersRoutes({
      takers,
      book: bookQueries(engine, records),
      readable: readableJson,
      symbols: series.symbols,
      poolKey: (option, maturity) => series.poolKey(option, maturity),
      poolAddressOf: (poolKey) => core.rfqs.poolAddressOf(poolKey),
      nowSeconds: () => (chains.health.settlement.status().head === null ? null : nowSeconds()),
      operator: () => core.operatorAddress(),
      answers: largeAnswers,
      limits,
    }),
  );
  const interest = openInterestOf(core.settlement, clock, limits);
  const followedInterest = new FollowedInterest({ interest, feed, clock, limits, onFault: logFault });
  const http = createHttp({
    ...options,
    chainId,
    symbols: options.profile.tokens.map(({ symbol }) => symbol),
    core,
    connections,
    takers,
    quotas,
    unknownKeys,
    watch: openRequestWatch(logger, clock, random, metrics, limits.troubleCalmMs),
    quoteJson,
    namedQuoteJson,
    page: {
      files: [],
      localKey: null,
      localRpcUrl: null,
      ...options.page,
      chainId,
      privacy: takers.privacy,
      router: profile.contracts.erc20Router.address,
    },
    optionRoutes,
    tickers: feed,
    valuations: openValuations({ ...options, ...core }, series, interest),
    pastEvents: new EventPages(feed, limits),
    largeAnswers,
  });
  const carryOutCall = metrics === null ? http.calls : measuredCalls(http.calls, clock, metrics);
  const server = openNetwork(options, http, { main: hub, container: hub.readableByDefault() }, logFault);

  const publish = measuredPublish((...message) => server.publish(...message), metrics);
  metrics?.beforeReading(() =>
    metrics.tradeFilesFailing.set((recorder?.isFailing ?? options.tradeFiles === null) ? 1 : 0),
  );
  if (metrics !== null) measureEngine(metrics, { engine, records, chains, clock, isReady: () => http.isReady() });
  const fanOutAdded = metrics && timeFanOut(metrics, records, clock);
  const pushesAdded = options.traces?.pushes(records);
  const publishers = [
    new PlainPublisher(topics.plain, plainForm(quoteJson), publish),
    new PlainPublisher(
      topics.readable,
      readableForm(readableJson, (pool) => knownPool(engine, pool)),
      publish,
    ),
  ];
  records.onEvents((committed) => {
    for (const { events } of committed) for (const publisher of publishers) publisher.onEvents(events);
  });
  records.onEvents((committed) => feed.onRecords(committed));
  fanOutAdded?.();
  pushesAdded?.();
  records.onEvents((committed) => trades.onRecords(committed));
  records.onEvents((committed) => followedInterest.onRecords(committed));
  records.onEvents((committed) => {
    for (const { owner, message } of rfqStatusMessages(committed, engine.rfqs, ofRfqs))
      hub.pushRfqStatus(owner, message);
  });
  const unwatchKeys = keys.onChange(({ id, onlySessions }) => {
    if (onlySessions !== true) quotas.forget(id);
    hub.onKeyChange(id);
  });

  // Background work begins after this, but for the wallets, which take up at once what an earlier run left: where
  // the port is taken, they alone have to be stopped.
  const { port, containerPort } = await server.listen(options).catch(async (error: unknown) => {
    await core.stop();
    throw error;
  });
  keys.watch(limits.keyWatchMs, (error) => {
    logger.error({ err: error }, 'API key reload failed');
  });
  let isStopped = false;
  let cancelNote: CancelTimer = () => undefined;
  const noteUsesLater = (): void => {
    cancelNote = clock.after(limits.selfKeyNoteMs, () => {
      const uses = keys.unwrittenUses();
      const noted = uses.length === 0 ? Promise.resolve() : proofs.noteUses(uses);
      noted.catch(logFault).finally(() => {
        if (!isStopped) noteUsesLater();
      });
    });
  };
  noteUsesLater();
  const volume = trades.readPast(history, start, clock, () => isStopped);
  volume.catch(logFault);
  countPastFills(options, feed, () => isStopped, recorder === null ? undefined : volume).catch(logFault);
  core.start();
  followedInterest.start();
  const { backend, library } = server;
  return { port, containerPort, backend, library, routes: http.routes, ready, adoptQuotas, stop };

  function adoptQuotas(table: QuotaTable): void {
    quotas.adopt(table);
    hub.onQuotasChange();
  }

  async function stop(): Promise<void> {
    isStopped = true;
    cancelNote();
    followedInterest.stop();
    server.stopListening();
    hub.closeReaders(CloseCode.serviceRestart, 'service restart');
    const cancelTimeUp = clock.after(limits.stopPatienceMs, () => core.endWaits());
    await server.close(CloseCode.serviceRestart, 'service restart');
    cancelTimeUp();
    connections.stop();
    await core.stop();
    await recorder?.stop();
    unwatchKeys();
  }

  function logFault(error: unknown): void {
    logger.error({ err: error }, 'internal error');
  }
}
