import { Keccak256 } from '../auth/keccak256.js';
import type { ProofStore } from '../auth/proof-store.js';
import { TakerAccess } from '../auth/taker-access.js';
import { OptionSeries, PoolNames } from '../chain/options/option-series.js';
import { eventsBefore } from '../feed/event-history.js';
import type { Feed } from '../feed/feed.js';
import { TopicIndex } from '../feed/topic-index.js';
import { FollowedInterest } from '../market/open-interest.js';
import { TradeHistory } from '../market/trade-history.js';
import { TradeRecorder } from '../market/trade-recorder.js';
import { measuredCalls } from '../metrics/instrument.js';
import { CloseCode, type NetServer } from '../net/net.js';
import { LargeAnswers } from '../quota/large-answers.js';
import { Quotas, type QuotaTable } from '../quota/rate-limits.js';
import { repeat } from '../system/timers.js';
import { TurnBudget } from '../system/turn-budget.js';
import { UnknownKeyGuard } from '../quota/unknown-key-guard.js';
import { rfqStatusMessages } from '../rfq/rfq-json.js';
import { QuoteJson } from '../wire/quote-json.js';
import { ReadableJson } from '../wire/readable.js';
import { Gateway } from '../ws/gateway.js';
import { PlainPublisher, plainForm, readableForm } from '../ws/publisher.js';
import { knownPool } from './book-views.js';
import { chainsJson, type Core } from './core.js';
import { countPastFills, openFeed } from './feed-wiring.js';
import { createHttp, openNetwork, type ServedRoutes, openRequestWatch } from './http-wiring.js';
import { openLocalCore } from './local-core.js';
import { measuredOptions, measuredPublish, measureEngine, timeFanOut } from './metrics-wiring.js';
import { OpenConnections } from '../protection/open-connections.js';
import { openInterestOf } from './options-wiring.js';
import type { ServiceOptions } from './service-options.js';
import { openRoutes } from './routes.js';
import { openSignIn } from './sign-in-wiring.js';

export interface Service {
  readonly port: number;
  /** Null: there is no second listener. */
  readonly containerPort: number | null;
  readonly backend: string;
  readonly library: NetServer['library'];
  readonly routes: ServedRoutes['routes'];
  /** Resolves when both chains have been read to their heads. */
  readonly ready: Promise<void>;
  /** Other quotas from now on; sockets beyond them are closed. */
  adoptQuotas(table: QuotaTable): void;
  /** Takes nothing new, finishes what is under way, closes sockets with 1012, and resolves when all is still. */
  stop(): Promise<void>;
}

/** Assembles one service over its ports and starts it. Rejects when its port is taken; then nothing is left running. */
export async function startService(given: ServiceOptions): Promise<Service> {
  const { metrics } = given;
  const options = measuredOptions(given, metrics);
  const { profile, engine, keys, clock, random, limits, logger, history } = options;
  const chainId = String(profile.settlement.chainId);
  const logFault = (error: unknown): void => logger.error({ err: error }, 'internal error');

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
  const readableJson = new ReadableJson({
    optionOf: (poolKey) => series.optionOf(poolKey),
    nowSeconds: core.time.nowSeconds,
  });
  const keccak = new Keccak256();
  const topics = { plain: new TopicIndex(chainId), readable: new TopicIndex(chainId, 'readable ') };
  const feed = openFeed(options, {
    chainId,
    recent,
    quoteJson: new QuoteJson(chainId, limits.writtenQuotes, (pool) => series.instrument(pool) ?? undefined),
    keccak256: (bytes) => keccak.of(bytes),
    publish(topic, message, isBinary) {
      publish(topic, message, isBinary);
      gateway.published(message.length);
    },
  });
  const poolNames = new PoolNames(() => engine.pools(), series);
  const turns = new TurnBudget(clock, limits.slicesPerTurn);
  const unknownKeys = new UnknownKeyGuard(limits, clock);
  const takers = new TakerAccess(options.privacy ?? 'open', () => core.operatorAddress());
  const { proofs, signIns } = openSignIn(options, core);
  const connections = new OpenConnections(core.protections, clock, logFault);
  const { trades, recorder } = openTrades(options);
  const interest = openInterestOf(core.settlement, clock, limits);
  const followedInterest = new FollowedInterest({ interest, feed, clock, limits, onFault: logFault });
  const served = openRoutes({
    options,
    core,
    feed,
    chainId,
    series,
    poolNames,
    quoteJson,
    readableJson,
    takers,
    signIns,
    quotas,
    unknownKeys,
    connections,
    answers: new LargeAnswers(quotas, turns, clock),
    chainReads: new LargeAnswers(quotas, turns, clock),
    trades,
    interest,
  });
  const watch = openRequestWatch(logger, clock, random, metrics, limits.troubleCalmMs);
  const http = createHttp({ ...options, ...served, core, quotas, watch, unknownKeys });
  const carryOutCall = metrics === null ? http.calls : measuredCalls(http.calls, clock, metrics);
  const gateway = new Gateway({
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
    carryOutCall,
    clock,
    corsOrigins: options.corsOrigins,
    limits,
    onFault: logFault,
  });
  const server = openNetwork(options, http, { main: gateway, container: gateway.readableByDefault() }, logFault);
  const publish = measuredPublish((...message) => server.publish(...message), metrics);
  metrics?.beforeReading(() =>
    metrics.tradeFilesFailing.set((recorder?.isFailing ?? options.tradeFiles === null) ? 1 : 0),
  );
  if (metrics !== null) measureEngine(metrics, { engine, records, chains, clock, isReady: () => http.isReady() });
  openPublishers({
    options,
    records,
    publishers: [
      new PlainPublisher(topics.plain, plainForm(quoteJson), publish),
      new PlainPublisher(
        topics.readable,
        readableForm(readableJson, (pool) => knownPool(engine, pool)),
        publish,
      ),
    ],
    feed,
    followers: [trades, followedInterest],
    quoteJson,
    gateway,
  });
  const unwatchKeys = keys.onChange(({ id, onlySessions }) => {
    if (onlySessions !== true) quotas.forget(id);
    gateway.onKeyChange(id);
  });

  // Background work begins after this, but for the wallets, which take up at once what an earlier run left: where
  // the port is taken, they alone have to be stopped.
  const { port, containerPort } = await server.listen(options).catch(async (error: unknown) => {
    await core.stop();
    throw error;
  });
  const background = startBackground({ options, core, proofs, trades, recorder, feed, start, onFault: logFault });
  followedInterest.start();
  const { backend, library } = server;
  return { port, containerPort, backend, library, routes: served.routes, ready, adoptQuotas, stop };

  function adoptQuotas(table: QuotaTable): void {
    quotas.adopt(table);
    gateway.onQuotasChange();
  }

  async function stop(): Promise<void> {
    background.stop();
    followedInterest.stop();
    server.stopListening();
    gateway.closeReaders(CloseCode.serviceRestart, 'service restart');
    const cancelTimeUp = clock.after(limits.stopPatienceMs, () => core.endWaits());
    await server.close(CloseCode.serviceRestart, 'service restart');
    cancelTimeUp();
    connections.stop();
    await core.stop();
    await recorder?.stop();
    unwatchKeys();
  }
}

/** Trades, and where they are kept beside the log; `recorder` is null where they are not. */
function openTrades({ tradeFiles: files = null, clock, limits, logger }: ServiceOptions) {
  const recorder = files === null ? null : new TradeRecorder(files, clock, limits, logger);
  const kept = files === null || recorder === null ? null : { files, recorder, clock, logger };
  return { trades: new TradeHistory(limits, kept), recorder };
}

interface PublisherParts {
  readonly options: ServiceOptions;
  readonly records: Core['records'];
  readonly publishers: readonly PlainPublisher[];
  readonly feed: Feed;
  /** They count committed records, and publish nothing themselves. */
  readonly followers: readonly Pick<TradeHistory, 'onRecords'>[];
  readonly quoteJson: QuoteJson;
  readonly gateway: Gateway;
}

/** Has subscribers hear of committed records: of each those of the plain protocol first, then those of the feed. */
function openPublishers({ options, records, publishers, feed, followers, quoteJson, gateway }: PublisherParts): void {
  const { engine, metrics, clock, traces } = options;
  // Each measures from a listener before all others to one after those that publish.
  const fanOutAdded = metrics && timeFanOut(metrics, records, clock);
  const pushesAdded = traces?.pushes(records);
  records.onEvents((committed) => {
    for (const { events } of committed) for (const publisher of publishers) publisher.onEvents(events);
  });
  records.onEvents((committed) => feed.onRecords(committed));
  fanOutAdded?.();
  pushesAdded?.();
  for (const follower of followers) records.onEvents((committed) => follower.onRecords(committed));
  const rfqParts = { orderOf: engine.get.bind(engine), quoteJson };
  records.onEvents((committed) => {
    for (const { owner, message } of rfqStatusMessages(committed, engine.rfqs, rfqParts))
      gateway.pushRfqStatus(owner, message);
  });
}

interface BackgroundParts {
  readonly options: ServiceOptions;
  readonly core: Core;
  readonly proofs: ProofStore;
  readonly trades: TradeHistory;
  readonly recorder: TradeRecorder | null;
  readonly feed: Feed;
  /** How far the log was at the start. */
  readonly start: { readonly index: number; readonly seq: number; readonly tsMs: number };
  readonly onFault: (error: unknown) => void;
}

/** Starts what runs without a request: the core, the watch of keys, and the reading of the day before the start. */
function startBackground(parts: BackgroundParts): { stop(): void } {
  const { options, core, proofs, trades, recorder, feed, start, onFault } = parts;
  const { keys, clock, limits, logger, history } = options;
  keys.watch(limits.keyWatchMs, (error) => {
    logger.error({ err: error }, 'API key reload failed');
  });
  let isStopped = false;
  const noteUses = async (): Promise<void> => {
    const uses = keys.unwrittenUses();
    if (uses.length > 0) await proofs.noteUses(uses);
  };
  const stopNoting = repeat(clock, limits.selfKeyNoteMs, noteUses, onFault);
  const volume = trades.readPast(history, start, clock, () => isStopped);
  volume.catch(onFault);
  countPastFills(options, feed, () => isStopped, recorder === null ? undefined : volume).catch(onFault);
  core.start();
  return {
    stop() {
      isStopped = true;
      stopNoting();
    },
  };
}
