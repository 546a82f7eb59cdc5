import { privateKeyToAddress } from 'viem/accounts';
import { unlessChainFails } from '../chain/contracts/contract-errors.js';
import type { BlockId } from '../chain/contracts/blocks-and-logs.js';
import type { Profile } from '../chain/contracts/deployments.js';
import { OptionSeries } from '../chain/options/option-series.js';
import type { IntentLog } from '../chain/wallet/intent-log.js';
import type { OperatorAccount } from '../chain/wallet/open-wallets.js';
import type { Settings } from '../config/setting-table.js';
import { walletTerms } from '../config/wallet-key.js';
import type { ChainRole } from '../engine/command.js';
import { ExpiryTimer } from '../engine/expiry-timer.js';
import type { Hex, PoolKey } from '../engine/quote.js';
import { EngineTime, Sequencer } from '../engine/sequencer.js';
import type { PastThread } from '../past/past-thread.js';
import type { PastQueries } from '../past/questions.js';
import { GasBudget } from '../quota/gas-budget.js';
import { OperatorCaps } from '../quota/operator-caps.js';
import { RfqDesk } from '../rfq/rfq-desk.js';
import type { Quotas } from '../quota/rate-limits.js';
import { StoppableClock } from '../system/stoppable-clock.js';
import { openFollowedChains, watchHeads } from './chain-wiring.js';
import { openIntake, openSignatures } from './publishing-wiring.js';
import { openAccountQueries, openOptionServices, readsForClients } from './options-wiring.js';
import { GoneKeys } from '../protection/gone-keys.js';
import { noncesOfKeys } from '../protection/provider-consent.js';
import { QuoteProtection } from '../protection/quote-protection.js';
import { quotePublishing } from './quote-publishing.js';
import { quoteWithdrawals } from '../protection/quote-withdrawals.js';
import type { Chains } from './chains.js';
import { type Core, type CoreRfqs, staleness } from './core.js';
import { measuredPublishing } from './metrics-wiring.js';
import type { CoreOptions } from './service-options.js';

/**
 * The operator's account: its key and its intents, which are the transactions that it may have sent. Each chain has its
 * own nonces and intents; roles on the same chain share them. `openIntents` opens those of this wallet on that chain.
 */
export async function operatorAccount(
  privateKey: Hex,
  { settlement, stream }: Profile,
  settings: Settings,
  openIntents: (chainId: number, address: Hex) => IntentLog | Promise<IntentLog>,
): Promise<OperatorAccount> {
  const address = privateKeyToAddress(privateKey);
  const ofSettlement = await openIntents(settlement.chainId, address);
  const isOneChain = stream.chainId === settlement.chainId;
  const ofStream = isOneChain ? ofSettlement : await openIntents(stream.chainId, address);
  return { privateKey, intents: { settlement: ofSettlement, stream: ofStream }, ...walletTerms(settings) };
}

/** A core whose engine is this process's own, with what reads and writes the chains. */
export interface LocalCore extends Core {
  readonly chains: Chains;
  readonly sequencer: Sequencer;
}

/** Opens the core. Before `start` only the wallets run: they resume the transactions of an earlier run at once. */
export async function openLocalCore(
  options: CoreOptions,
  quotas: Quotas,
  onFault: (error: unknown) => void,
): Promise<LocalCore> {
  const { engine, journal, past = null, clock, random, limits, metrics } = options;
  const time = new EngineTime(clock, engine.tsMs);
  const { expiredAtOnce } = limits;
  const sequencer = new Sequencer({ engine, journal, time, expiredAtOnce, onFault: options.onFault });
  const { nowSeconds } = time;
  const signing = await openSignatures(options, onFault);
  const { chains, ready } = openFollowedChains(options, { sequencer, time, nowSeconds, signing });
  const operatorGas = new GasBudget({
    of: (tier) => quotas.of(tier),
    nowMs: () => time.nowMs(),
    kept: options.budgets ?? null,
    onCharged({ id, tier }, quotes, gas) {
      metrics?.publishedQuotes.labels(id, tier).inc(quotes);
      metrics?.chargedGas.labels(id, tier).inc(gas);
    },
    onRefusal: ({ tier }) => quotas.refused('day', tier),
  });
  const requestClock = new StoppableClock(clock);
  const reads = readsForClients(options, chains, requestClock);
  const { signatures } = signing;
  const series = new OptionSeries(options.profile);
  const accounts = openAccountQueries({ ...options, series, time, chains, reads });
  const operatorCaps = new OperatorCaps({
    routeGasPerDay: limits.operatorRouteGasPerDay,
    gasPerDay: limits.operatorGasPerDay,
    nowMs: () => time.nowMs(),
    kept: options.budgets ?? null,
  });
  const wallets = { operatorGas, operatorCaps };
  const parts = { ...options, ...wallets, series, sequencer, time, chains, requestClock, reads, accounts, signatures };
  const optionServices = openOptionServices(parts);
  const unmeasured = quotePublishing({
    ...openIntake(options, { sequencer, chains, signing, nowSeconds, requestClock }),
    quotas,
    operatorGas,
    operatorsCap: operatorCaps.of('POST /orderbook/quotes'),
    journal,
    chains,
    staleness: () => staleness(chains, clock.monotonicMs()),
  });
  const measured = measuredPublishing(unmeasured, clock, metrics);
  const publishing = options.traces?.publishing(measured) ?? measured;
  const { chainId } = options.profile.settlement;
  const consents = { engine, sequencer, signatures, chainId, nowSeconds, limits, nonces: noncesOfKeys(limits) };
  const withdrawals = quoteWithdrawals(consents);
  const protections = new QuoteProtection({ ...consents, clock });
  const goneKeys = new GoneKeys({
    ...{ engine, sequencer, clock, limits, keys: options.keys },
    onFault: (error) => options.logger.error({ err: error }, 'API key reload failed'),
  });
  let expiry: ExpiryTimer | null = null;
  let watches: ReturnType<typeof watchHeads> = [];
  return {
    records: sequencer,
    sequencer,
    time,
    chains: { ...chains, readTo: committedReadTo(chains, sequencer) },
    publishing,
    withdrawals,
    protections,
    optionServices: () => optionServices,
    rfqs: rfqPorts(chains, new RfqDesk({ engine, sequencer, nowSeconds, random, limits })),
    settlement: reads,
    accounts,
    past: past && pastQueries(past, sequencer, time),
    proofs: null,
    operatorAddress: () => chains.settlementWallet?.address ?? null,
    ready,
    replica: null,
    refusal: () => journal.refusal(),
    start() {
      expiry = new ExpiryTimer({ engine, sequencer, time, clock, retryMs: limits.journalRetryMs });
      protections.start();
      goneKeys.start();
      watches = watchHeads(options, chains);
      chains.follower.start();
    },
    endWaits: () => requestClock.endWaits(),
    async stop() {
      for (const watch of watches) watch.stop();
      await chains.stop();
      await signing.signatureChecks.close();
      expiry?.stop();
      protections.stop();
      goneKeys.stop();
      await journal.flush();
    },
  };
}

/**
 * The last block of each chain whose events all listeners have had: a reader's own position counts what is not durable yet.
 * Behind by one commit at most while commits are under way.
 */
export function committedReadTo(
  chains: Pick<Chains, 'readTo'>,
  sequencer: Pick<Sequencer, 'afterCommit'>,
): Chains['readTo'] {
  let committed: Readonly<Record<ChainRole, BlockId | null>> = { settlement: null, stream: null };
  let isWaiting = false;
  return (role) => {
    if (!isWaiting) {
      isWaiting = true;
      const now = { settlement: chains.readTo('settlement'), stream: chains.readTo('stream') };
      sequencer.afterCommit(() => {
        committed = now;
        isWaiting = false;
      });
    }
    return committed[role];
  };
}

/** Ports that requests for quotes need of the chains and the engine. */
export function rfqPorts(
  { pools }: Pick<Chains, 'pools'>,
  desk: Pick<RfqDesk, 'publish' | 'open' | 'cancel'>,
): CoreRfqs {
  return {
    async poolAddressOf(poolKey: PoolKey) {
      const found = await unlessChainFails(() => pools.resolve([poolKey]), null);
      return found === null ? 'UNAVAILABLE' : (found[0]?.poolAddress ?? 'IMPOSSIBLE');
    },
    publish: (rfq, owner) => desk.publish(rfq, owner),
    open: (request) => desk.open(request),
    cancel: (owner, id) => desk.cancel(owner, id),
  };
}

/**
 * Answers from the log what is durable. An answer waits for what is applied when it is asked for: a gateway may show an
 * event a moment before this process has it back from the cluster's log.
 */
export function pastQueries(
  past: Pick<PastThread, 'ask'>,
  sequencer: Pick<Sequencer, 'whenDurable' | 'handedIndex'>,
  time: Pick<EngineTime, 'nowMs'>,
): PastQueries {
  return {
    async ask(request) {
      await sequencer.whenDurable();
      return past.ask({ ...request, throughIndex: sequencer.handedIndex, nowMs: time.nowMs() });
    },
  };
}
