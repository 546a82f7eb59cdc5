import { decodeEventLog, encodeEventTopics, pad } from 'viem';
import type { Command } from '../../engine/command.js';
import type { Hex, Origin, Pool, TradeTerms } from '../../engine/quote.js';
import { mapLimit } from '../../system/timers.js';
import { erc20Abi, optionTokenAbi, poolAbi, poolFactoryAbi } from '../contracts/abi.js';
import type { BlockId, ChainLog, Topics } from '../contracts/blocks-and-logs.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { checksummed } from '../contracts/deployments.js';
import { collateralToken } from '../contracts/quote-types.js';
import { positionAt } from './book-port.js';
import { readLogsByTopic } from './log-query.js';
import type { LogsBloom } from './logs-bloom.js';

/** A `FillQuoteOB`. */
export interface FillEvent {
  readonly type: 'FILL';
  readonly log: ChainLog;
  readonly quoteId: Hex;
  readonly size: bigint;
  readonly taker: Hex;
  readonly provider: Hex;
  /** Between maker and taker, without the fee; 1e-18 of the collateral token, as the fee. */
  readonly premium: bigint;
  readonly fee: bigint;
  /** The taker bought. */
  readonly isBuy: boolean;
}

/** An event in the settlement chain's logs that matters to a book. Nothing is checked yet but the form. */
export type SettlementEvent =
  | FillEvent
  | { readonly type: 'CANCEL'; readonly log: ChainLog; readonly quoteId: Hex; readonly provider: Hex }
  | { readonly type: 'POOL'; readonly log: ChainLog; readonly pool: Pool };

/**
 * Why an event on the settlement chain counts for nothing. Most are not hostile: quotes are filled that no stream
 * knows.
 */
export type IgnoredEvent =
  /** It comes from no pool with orders, and not from the factory. */
  | 'OTHER_CONTRACT'
  /** Its form is not that of the event whose name it bears. */
  | 'MALFORMED'
  /** No order is known by that id in that pool. */
  | 'UNKNOWN_QUOTE'
  /** Somebody cancelled what is another's. */
  | 'OTHER_PROVIDER';

export interface IgnoredLog {
  readonly why: IgnoredEvent;
  readonly log: ChainLog;
}

export interface FoundEvents {
  /** Of the factory, and of pools with orders. */
  readonly events: readonly SettlementEvent[];
  /** Fills and cancels by their form, of other contracts: the first quote of a pool may not be known yet. */
  readonly others: readonly SettlementEvent[];
  /** All logs that are not among `events`. */
  readonly ignored: readonly IgnoredLog[];
}

/** An account's funds changed: an allowance or balance of the token at `log.address`, or a position in the pool there. */
export interface FundsEvent {
  readonly log: ChainLog;
  readonly accounts: readonly Hex[];
}

const [FILL] = encodeEventTopics({ abi: poolAbi, eventName: 'FillQuoteOB' });
const [CANCEL] = encodeEventTopics({ abi: poolAbi, eventName: 'CancelQuoteOB' });
const [DEPLOYED] = encodeEventTopics({ abi: poolFactoryAbi, eventName: 'PoolDeployed' });
const [APPROVAL] = encodeEventTopics({ abi: erc20Abi, eventName: 'Approval' });
const [TRANSFER] = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer' });
const [TRANSFER_SINGLE] = encodeEventTopics({ abi: optionTokenAbi, eventName: 'TransferSingle' });
const [TRANSFER_BATCH] = encodeEventTopics({ abi: optionTokenAbi, eventName: 'TransferBatch' });
const EVENTS: readonly Hex[] = [FILL, CANCEL, DEPLOYED];
const FUNDS_EVENTS = [APPROVAL, TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH];

/** Topics of one `eth_getLogs`: a node takes some hundreds in a position, not thousands. */
const PROVIDERS_PER_QUERY = 200;
/**
 * Anyone can publish quotes of makers who own nothing, a thousand for 12 million gas: where that would take hundreds of
 * queries for each new block, one asks for everybody's logs. In more blocks at once those would be too many.
 */
const MAX_NAMED_PROVIDERS = 2_000;
const MAX_UNFILTERED_BLOCKS = 100;
const QUERIES_IN_FLIGHT = 8;

/** Logs that look like fills, cancels and deployments, in chain order; anyone may emit them, in any number. */
export function readSettlementLogs(
  reader: Pick<ChainReader, 'logs'>,
  fromBlock: number,
  to: BlockId,
  poolFactory: Hex,
  pools: readonly Pool[],
): Promise<ChainLog[]> {
  return readLogsByTopic(reader, { fromBlock, to, topics: [EVENTS] }, () => emittersOf(poolFactory, pools));
}

export function isSettlementLog({ topics: [name] }: ChainLog): boolean {
  return name !== undefined && EVENTS.includes(name);
}

/** Whether a block with this filter may have a fill, a cancel or a deployment, also one that counts for nothing. */
export function mayHoldSettlementEvents(bloom: LogsBloom): boolean {
  return EVENTS.some((name) => bloom.has(name));
}

/** Events in the logs: only logs of the factory and of `pools`, those with orders, count. */
export function settlementEvents(logs: readonly ChainLog[], poolFactory: Hex, pools: readonly Pool[]): FoundEvents {
  const known = emittersOf(poolFactory, pools);
  const events: SettlementEvent[] = [];
  const others: SettlementEvent[] = [];
  const ignored: IgnoredLog[] = [];
  for (const log of logs) {
    const isOurs = known.has(log.address);
    const event = isOurs || log.topics[0] !== DEPLOYED ? decode(log) : null;
    if (!isOurs && event !== null) others.push(event);
    if (isOurs && event !== null) events.push(event);
    else ignored.push({ why: isOurs ? 'MALFORMED' : 'OTHER_CONTRACT', log });
  }
  return { events, others, ignored };
}

function emittersOf(poolFactory: Hex, pools: readonly Pool[]): Set<Hex> {
  return new Set([poolFactory, ...pools.map(({ poolAddress }) => poolAddress)]);
}

/** Logs of every change of the providers' allowances, balances and positions that may concern orders in `pools`. */
export async function readFundsLogs(
  reader: Pick<ChainReader, 'logs'>,
  fromBlock: number,
  to: BlockId,
  providers: readonly Hex[],
  pools: readonly Pool[],
): Promise<ChainLog[]> {
  const isOfEverybody = providers.length > MAX_NAMED_PROVIDERS && to.blockNumber - fromBlock < MAX_UNFILTERED_BLOCKS;
  const queries = isOfEverybody ? [[FUNDS_EVENTS]] : queriesNaming(providers);
  const emitters = (): Hex[] => pools.flatMap((pool) => [pool.poolAddress, collateralToken({ pool })]);
  const found = await mapLimit(queries, QUERIES_IN_FLIGHT, (topics) =>
    readLogsByTopic(reader, { fromBlock, to, topics }, emitters),
  );
  return isOfEverybody ? fundsLogsAmong(found.flat(), providers) : found.flat();
}

/** Whether a block with this filter may have logs of `readFundsLogs`. */
export function mayHoldFundsLogs(bloom: LogsBloom, providers: Iterable<Hex>, pools: Iterable<Pool>): boolean {
  if (!FUNDS_EVENTS.some((name) => bloom.has(name))) return false;
  return hasEmitter(bloom, pools) && hasAccount(bloom, providers);
}

function hasEmitter(bloom: LogsBloom, pools: Iterable<Pool>): boolean {
  for (const pool of pools) if (bloom.has(pool.poolAddress) || bloom.has(collateralToken({ pool }))) return true;
  return false;
}

/** More providers than this are not looked for: a filter has one of them by chance. */
function hasAccount(bloom: LogsBloom, providers: Iterable<Hex>): boolean {
  let count = 0;
  for (const provider of providers) {
    count += 1;
    if (count > MAX_NAMED_PROVIDERS || bloom.has(pad(provider))) return true;
  }
  return false;
}

/** Of all logs of a block, those that tell of a change of the providers' funds. */
export function fundsLogsAmong(logs: readonly ChainLog[], providers: Iterable<Hex>): ChainLog[] {
  const found = logs.filter(({ topics: [name] }) => name !== undefined && FUNDS_EVENTS.includes(name));
  if (found.length === 0) return [];
  const named = new Set(providers);
  return found.filter(({ topics }) => topics.slice(1).some((topic) => named.has(toAddress(topic))));
}

/** The accounts whose funds the log says have changed. */
export function fundsEvent(log: ChainLog): FundsEvent {
  return { log, accounts: log.topics.slice(1).map(toAddress) };
}

function queriesNaming(providers: readonly Hex[]): Topics[] {
  const queries: Topics[] = [];
  for (let start = 0; start < providers.length; start += PROVIDERS_PER_QUERY) {
    const accounts = providers.slice(start, start + PROVIDERS_PER_QUERY).map((provider) => pad(provider));
    queries.push([[APPROVAL, TRANSFER], accounts]);
    queries.push([[TRANSFER, TRANSFER_SINGLE, TRANSFER_BATCH], null, accounts]);
    queries.push([[TRANSFER_SINGLE, TRANSFER_BATCH], null, null, accounts]);
  }
  return queries;
}

/** Where a log stands, as commands carry it. */
export function originOf({ blockNumber, txHash, logIndex }: ChainLog): Origin {
  return { blockNumber, txHash, logIndex };
}

/**
 * Null for a log that only shares the topic: an event's name and types do not bind the contract that emits it. Cancels of what
 * nobody knows cost 2,400 gas each, so that anyone can fill a block with thousands: viem's decoder takes 40 us for each.
 */
function decode(log: ChainLog): SettlementEvent | null {
  const [name, first, second, third] = log.topics;
  switch (name) {
    case FILL:
      if (first === undefined || second === undefined || third === undefined || !hasWords(log, FILL_WORDS)) return null;
      return decodeFill(log, first, toAddress(second), toAddress(third));
    case CANCEL:
      if (first === undefined || !hasWords(log, 1)) return null;
      return { type: 'CANCEL', log, quoteId: firstWord(log), provider: toAddress(first) };
    default:
      return decodeDeployment(log);
  }
}

export function decodeDeployment(log: ChainLog): SettlementEvent | null {
  const topics = [...log.topics] as [Hex, ...Hex[]];
  try {
    const { args } = decodeEventLog({ abi: poolFactoryAbi, eventName: 'PoolDeployed', topics, data: log.data });
    const maturity = Number(args.maturity);
    if (!Number.isSafeInteger(maturity)) return null;
    const { base, quote, oracleAdapter, strike, isCallPool, poolAddress } = args;
    const poolKey = checksummed({ base, quote, oracleAdapter, strike, maturity, isCallPool });
    return { type: 'POOL', log, pool: { poolKey, poolAddress: poolAddress.toLowerCase() as Hex } };
  } catch {
    return null;
  }
}

/** Of a fill, not indexed: the contracts, two deltas of three, three amounts, and whether it was a bid. */
const FILL_WORDS = 11;

/** Words of a fill's data, from 0. */
const PREMIUM_WORD = 7;
const FEE_WORD = 8;
const REBATE_WORD = 9;
const IS_BUY_WORD = 10;

function decodeFill(log: ChainLog, quoteId: Hex, taker: Hex, provider: Hex): FillEvent {
  const word = (place: number): bigint => BigInt(`0x${log.data.slice(2 + 64 * place, 66 + 64 * place)}`);
  return {
    type: 'FILL',
    log,
    quoteId,
    size: word(0),
    taker,
    provider,
    premium: word(PREMIUM_WORD),
    // The protocol gives a part of the taker's fee to its referrer.
    fee: word(FEE_WORD) + word(REBATE_WORD),
    isBuy: word(IS_BUY_WORD) !== 0n,
  };
}

function hasWords({ data }: ChainLog, words: number): boolean {
  return data.length >= 2 + 64 * words;
}

function firstWord({ data }: ChainLog): Hex {
  return data.slice(0, 66).toLowerCase() as Hex;
}

/** The last 20 bytes of an indexed address. */
function toAddress(topic: Hex): Hex {
  return `0x${topic.slice(26)}`;
}

const ONE = 10n ** 18n;

/**
 * A fill as a trade. `price`: of its quote; null: the quote is not known, and the premium says it: a share of a base
 * token for calls, of a strike for puts.
 */
export function tradeOf(event: FillEvent, pool: Pool, price: bigint | null, time: number): TradeTerms {
  const { size, premium, fee, taker, provider, isBuy } = event;
  const { isCallPool, strike } = pool.poolKey;
  const paid = isCallPool ? size : (size * strike) / ONE;
  return { pool, provider, taker, price: price ?? (paid === 0n ? 0n : (premium * ONE) / paid), fee, isBuy, time };
}

/**
 * The command that a settlement event is to the engine. `times`: timestamps of blocks that deployed pools. `trade`: of a
 * fill.
 */
export function settlementCommand(
  event: SettlementEvent,
  times: ReadonlyMap<number, number>,
  trade?: TradeTerms,
): Command {
  const { log } = event;
  const origin = originOf(log);
  const position = positionAt('settlement', log);
  switch (event.type) {
    case 'FILL':
      return {
        type: 'FILL_QUOTE',
        quoteId: event.quoteId,
        size: event.size,
        ...(trade && { trade }),
        origin,
        position,
      };
    case 'CANCEL':
      return { type: 'CANCEL_QUOTE', quoteId: event.quoteId, origin, position };
    case 'POOL': {
      const time = times.get(log.blockNumber);
      if (time === undefined) throw new Error('The time of a deployment was not asked for');
      return { type: 'DEPLOY_POOL', pool: event.pool, deployedAt: time, origin, position };
    }
  }
}
