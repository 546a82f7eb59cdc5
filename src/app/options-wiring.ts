import type { Logger } from 'pino';
import { BoundedReads, type ClientReads } from '../chain/contracts/bounded-reads.js';
import { isChainFailure } from '../chain/contracts/contract-errors.js';
import type { Profile } from '../chain/contracts/deployments.js';
import { AccountBalances, longSupplies } from '../chain/options/account-balances.js';
import { type ChainSeconds, type OptionSeries } from '../chain/options/option-series.js';
import type { Oracles } from '../chain/options/oracles.js';
import { PoolIndexWait, PoolDeployer } from '../chain/options/pool-deployer.js';
import { Settler } from '../chain/options/settler.js';
import { VaultQuotes } from '../chain/options/vault-quotes.js';
import { RpcUnreachable } from '../chain/rpc/rpc-errors.js';
import { Operator } from '../chain/wallet/operator.js';
import type { Limits } from '../config/limits.js';
import type { Engine } from '../engine/engine.js';
import { ZERO_ADDRESS } from '../engine/quote.js';
import type { Clock, Journal } from '../engine/ports.js';
import type { EngineTime, Sequencer } from '../engine/sequencer.js';
import type { KeyValueStore } from '../persistence/disk/disk.js';
import { type OperatorTrading } from '../http/trading-routes.js';
import type { TickerValuations } from '../http/feed-routes.js';
import { OpenInterest } from '../market/open-interest.js';
import { Valuations } from '../market/valuation.js';
import type { Caller } from '../http/router.js';
import type { QuoteSignature } from '../auth/quote-signature.js';
import { CollateralApprovals } from '../trading/approvals.js';
import { OrderTrading } from '../trading/order-trading.js';
import { QuoteSigning } from '../trading/quote-signing.js';
import { Turns } from '../trading/turns.js';
import { VaultTrading } from '../trading/vault-trading.js';
import { readTokenCaps, TokenCaps } from '../quota/token-caps.js';
import type { OperatorAccount } from '../chain/wallet/open-wallets.js';
import {
  GAS_PER_APPROVAL,
  GAS_PER_CANCEL,
  GAS_PER_CANCELLED_QUOTE,
  GAS_PER_DEPLOYMENT,
  GAS_PER_FILL,
  GAS_PER_SETTLEMENT,
  GAS_PER_VAULT_TRADE,
  type GasBudget,
  GasReservation,
} from '../quota/gas-budget.js';
import type { OperatorCaps } from '../quota/operator-caps.js';
import { chainSeconds, type Core, type OptionServices } from './core.js';
import { briefly, TroubleLog } from './trouble-log.js';
import type { Chains } from './chains.js';
import type { ServiceOptions } from './service-options.js';

export interface OptionServicesOptions {
  readonly profile: Profile;
  readonly series: OptionSeries;
  readonly engine: Engine;
  readonly sequencer: Sequencer;
  readonly journal: Journal;
  readonly time: EngineTime;
  readonly chains: Chains;
  readonly operatorGas: GasBudget;
  readonly operatorCaps: OperatorCaps;
  /** Where the daily caps of tokens are kept; absent: they are forgotten with the process. */
  readonly budgets?: KeyValueStore;
  /** Ends the waits of requests when the service stops. */
  readonly requestClock: Clock;
  readonly signatures: Pick<QuoteSignature, 'quoteId'>;
  /** Null: no wallet. */
  readonly operator: OperatorAccount | null;
  readonly reads: ClientReads;
  readonly accounts: Pick<AccountBalances, 'forget'>;
  readonly limits: Limits;
  readonly logger: Logger;
}

/** As the chain says, on a budget that all who need it share. */
export function openInterestOf(
  settlement: Core['settlement'],
  clock: Pick<Clock, 'monotonicMs'>,
  limits: Pick<Limits, 'openInterestPools' | 'openInterestMaxAgeMs'>,
): OpenInterest {
  return new OpenInterest({ readSupplies: (pools) => longSupplies(settlement, pools), clock, limits });
}

/** Estimates of pools by the spot prices of the deployment's oracle adapter. */
export function openValuations(
  { profile, clock, limits }: Pick<ServiceOptions, 'profile' | 'clock' | 'limits'>,
  { nowSeconds }: Core['time'],
  series: OptionSeries,
  oracles: Oracles,
  interest: OpenInterest,
): TickerValuations {
  const adapter = profile.contracts.oracleAdapter.address.toLowerCase();
  const valuations = new Valuations({
    readSpots: (pairs) => oracles.spotPrices(pairs),
    hasOracle: ({ oracleAdapter }) => oracleAdapter.toLowerCase() === adapter,
    dollar: series.token('USDC')?.address ?? null,
    nowSeconds,
    clock,
    limits,
  });
  return {
    async prepare(pools) {
      const all = [...pools];
      const [value, held] = await Promise.all([valuations.prepare(all), interest.prepare(all)]);
      return (ticker) => ({
        instrument: series.instrument(ticker.pool),
        openInterest: held(ticker.pool)?.toString() ?? null,
        valuation: value(ticker),
      });
    },
  };
}

/** Opens the queries of accounts' holdings. */
export function openAccountQueries(
  options: Pick<OptionServicesOptions, 'profile' | 'series' | 'time' | 'reads' | 'limits'> & {
    readonly chains: Pick<Chains, 'settlement'>;
    readonly clock: Clock;
  },
): AccountBalances {
  const { profile, series, time, chains, reads, clock, limits } = options;
  const { settlement } = chains;
  const reader = {
    multicall: reads.multicall,
    nativeBalance: reads.nativeBalance,
    logs: settlement.logs.bind(settlement),
    head: settlement.head.bind(settlement),
    block: settlement.block.bind(settlement),
  };
  return new AccountBalances(reader, profile, series, clock, time.nowSeconds, limits);
}

/** Null without a wallet. */
export function openOptionServices(options: OptionServicesOptions): OptionServices | null {
  const { profile, series, engine, sequencer, journal, time, chains, operatorGas, operatorCaps, accounts } = options;
  const { limits, requestClock, logger } = options;
  const { settlementWallet, follower, health } = chains;
  if (settlementWallet === null) return null;
  const settlement = options.reads;
  const factory = profile.contracts.poolFactory.address;
  const now = chainSeconds(chains, time);
  const onMined = (): void => {
    follower.wake();
    // A request after the answer must see what the transaction did to the positions.
    accounts.forget(settlementWallet.address);
  };
  const operator = new Operator(settlementWallet, settlement, onMined, requestClock, limits.txPatienceMs);
  const known = {
    knows: (poolAddress: `0x${string}`) => engine.pool(poolAddress) !== undefined,
    whenDurable: () => sequencer.whenDurable(),
  };
  const arrivals = new PoolIndexWait(known, requestClock, limits.poolArrivalMs);
  sequencer.onEvents((records) => {
    for (const event of records.flatMap(({ events }) => events)) {
      if (event.type === 'POOL_DEPLOYED') arrivals.arrived(event.pool.poolAddress);
    }
  });
  const deployer = new PoolDeployer(operator, settlement, factory, series, arrivals, now, limits.optionsInFlight);
  const settler = new Settler(operator, settlement, factory, series, now, limits.optionsInFlight);
  const sender = { address: operator.address, waitMs: () => chains.spending?.settlement.waitMs() ?? 0 };
  const charge = (caller: Caller, gasPerTx: number) => new GasReservation(operatorGas, sender, caller, gasPerTx);
  /** For the routes that only keys with the scope operator may use. */
  const act = (caller: Caller, route: string, gasPerTx: number): GasReservation =>
    new GasReservation(operatorGas, sender, caller, gasPerTx, {
      cap: operatorCaps.of(route),
      onMined: ({ id }, txHash, succeeded) =>
        logger.info({ keyId: id, route, txHash, succeeded }, 'operator wallet used'),
    });
  const vaultQuotes = new VaultQuotes(settlement, profile, series, chains.pools, settlementWallet.address, now);
  return {
    // A pool counts as created once it is listed, for which its event has to be read and logged.
    deployments: {
      refusal: () => health.settlement.status().stale ?? journal.refusal(),
      deploy: (caller, terms) =>
        charge(caller, GAS_PER_DEPLOYMENT).run((gasAccount) => deployer.deploy(terms, gasAccount)),
    },
    settlements: {
      refusal: () => journal.refusal(),
      settle: (caller, terms) =>
        charge(caller, GAS_PER_SETTLEMENT).run((gasAccount) => settler.settle(terms, gasAccount)),
      exercise: (caller, terms) =>
        act(caller, 'POST /pool/exercise', GAS_PER_SETTLEMENT).run((gasAccount) => settler.exercise(terms, gasAccount)),
      annihilate: (caller, terms) =>
        act(caller, 'POST /pool/annihilate', GAS_PER_SETTLEMENT).run((gasAccount) =>
          settler.annihilate(terms, gasAccount),
        ),
    },
    vaults: vaultQuotes,
    trading: openTrading(options, { wallet: settlementWallet, operator, vaultQuotes, now, act }),
  };
}

interface TradingParts {
  readonly wallet: NonNullable<Chains['settlementWallet']>;
  readonly operator: Operator;
  readonly vaultQuotes: VaultQuotes;
  readonly now: ChainSeconds;
  readonly act: (caller: Caller, route: string, gasPerTx: number) => GasReservation;
}

/** Trades of the wallet for keys with the scope operator. */
function openTrading(options: OptionServicesOptions, parts: TradingParts): OperatorTrading {
  const { profile, series, engine, journal, time, chains, reads, limits, logger } = options;
  const { wallet, operator, vaultQuotes, now, act } = parts;
  const { poolFactory, erc20Router } = profile.contracts;
  const { perDay, problems } = readTokenCaps(options.operator?.tokensPerDay ?? [], profile.tokens);
  if (problems.length > 0) throw new Error(problems.join(' '));
  const caps = new TokenCaps({
    perDay,
    nowMs: () => time.nowMs(),
    kept: options.budgets ?? null,
  });
  const turns = new Turns(limits.txWaiting);
  const referrer = options.operator?.referrer ?? ZERO_ADDRESS;
  const shared = { operator, series, caps, turns, referrer };
  const orders = new OrderTrading({
    ...shared,
    reader: reads,
    orders: { get: (quoteId) => engine.get(quoteId) },
    router: erc20Router.address,
    inFlight: limits.optionsInFlight,
  });
  const tokenOf = (symbol: string) => series.token(symbol);
  const approvals = new CollateralApprovals(operator, reads, tokenOf, erc20Router.address, turns);
  const vaults = new VaultTrading({
    ...shared,
    reader: { multicall: reads.multicall, logs: chains.settlement.logs.bind(chains.settlement) },
    poolFactory: poolFactory.address,
    vaults: profile.vaults,
    quotes: vaultQuotes,
    nowSeconds: now,
  });
  const signing = new QuoteSigning({
    signer: wallet,
    signatures: options.signatures,
    reader: reads,
    poolFactory: poolFactory.address,
    series,
    nowSeconds: now,
    nowMs: () => time.nowMs(),
    minLifeSeconds: Math.max(limits.minSignedQuoteSeconds, limits.minQuoteLifeSeconds),
  });
  /** Answers tell which quotes failed, and the text log why. */
  const noted = <Result extends { readonly type: string }>(caller: Caller, route: string, result: Result): Result => {
    const items = 'items' in result ? (result.items as readonly { readonly reason?: string }[]) : [];
    const reasons = [...new Set(items.flatMap(({ reason }) => reason ?? []))];
    if (reasons.length > 0) logger.info({ keyId: caller.id, route, reasons }, 'quotes not traded');
    return result;
  };
  return {
    refusal: () => chains.health.settlement.status().stale ?? journal.refusal(),
    async fill(caller, fills) {
      const route = 'PATCH /orderbook/quotes';
      return noted(
        caller,
        route,
        await act(caller, route, GAS_PER_FILL).run((gasAccount) => orders.fill(fills, gasAccount)),
      );
    },
    async cancel(caller, quoteIds) {
      const route = 'DELETE /orderbook/quotes';
      const gas = GAS_PER_CANCEL + GAS_PER_CANCELLED_QUOTE;
      return noted(
        caller,
        route,
        await act(caller, route, gas).run((gasAccount) => orders.cancel(quoteIds, gasAccount)),
      );
    },
    approve: (caller, asked) =>
      act(caller, 'POST /account/collateral_approval', GAS_PER_APPROVAL).run((gasAccount) =>
        approvals.approve(asked, gasAccount),
      ),
    tradeWithVault: (caller, order) =>
      act(caller, 'POST /vaults/trade', GAS_PER_VAULT_TRADE).run((gasAccount) => vaults.trade(order, gasAccount)),
    sign: (quotes) => signing.sign(quotes),
  };
}

/**
 * Reads of the settlement chain, on behalf of clients. One reader serves all routes: it bounds what they read at the same
 * time, and repeated refusals of the node give one warning in the text log.
 */
export function readsForClients(
  { limits, logger }: Pick<OptionServicesOptions, 'limits' | 'logger'>,
  { settlement }: Pick<Chains, 'settlement'>,
  requestClock: Clock,
): ClientReads {
  const troubles = new TroubleLog(requestClock, limits.troubleCalmMs);
  const bounds = {
    callsPerBatch: limits.rpcCallsPerBatch,
    batchesInFlight: limits.rpcBatchesInFlight,
    places: limits.clientReadsInFlight,
    waitMs: limits.clientReadWaitMs,
  };
  return loggedRefusals(new BoundedReads(settlement, bounds, requestClock), (error) => {
    if (troubles.failed('refusal')) logger.warn({ reason: briefly(error) }, 'chain call refused');
    else logger.debug({ err: error }, 'chain call refused');
  });
}

/**
 * The same reader for routes that answer clients. The client learns only that the node refused; `onRefusal` gets the
 * node's own words. Unreachable endpoints are left out, because the endpoint pool reports them.
 */
export function loggedRefusals(reader: ClientReads, onRefusal: (error: Error) => void): ClientReads {
  const reported = async <T>(asked: Promise<T>): Promise<T> => {
    try {
      return await asked;
    } catch (error) {
      if (isChainFailure(error) && !(error instanceof RpcUnreachable)) onRefusal(error);
      throw error;
    }
  };
  return {
    call: (...asked) => reported(reader.call(...asked)),
    multicall: (...asked) => reported(reader.multicall(...asked)),
    nativeBalance: (...asked) => reported(reader.nativeBalance(...asked)),
  };
}
