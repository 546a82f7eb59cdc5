import { encodeEventTopics, pad } from 'viem';
import {
  addressWord,
  boolWord,
  bytes32Word,
  poolKeyWords,
  streamSignatureWords,
  uintWord,
} from '../../src/chain/contracts/abi-encoding.js';
import { erc20Abi, orderbookStreamAbi, poolAbi, poolFactoryAbi } from '../../src/chain/contracts/abi.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import type { Happening, SimLog } from './sim-chain.js';
import { SIM_PROFILE, TOKEN } from './sim-quotes.js';

/** What the contracts of the settlement chain hold. */
export interface Market {
  readonly deployed: ReadonlySet<Hex>;
  /** By quote id; CANCELLED is the pool's own word for it. */
  readonly filled: ReadonlyMap<Hex, bigint>;
  /** By maker, of the one token; PLENTY unless it is said. */
  readonly allowance: ReadonlyMap<Hex, bigint>;
  readonly balance: ReadonlyMap<Hex, bigint>;
}

export const EMPTY_MARKET: Market = {
  deployed: new Set(),
  filled: new Map(),
  allowance: new Map(),
  balance: new Map(),
};
export const CANCELLED = 2n ** 256n - 1n;
export const PLENTY = 10n ** 24n;

const [PUBLISH] = encodeEventTopics({ abi: orderbookStreamAbi, eventName: 'PublishQuote' });
const [FILL] = encodeEventTopics({ abi: poolAbi, eventName: 'FillQuoteOB' });
const [CANCEL] = encodeEventTopics({ abi: poolAbi, eventName: 'CancelQuoteOB' });
const [DEPLOYED] = encodeEventTopics({ abi: poolFactoryAbi, eventName: 'PoolDeployed' });
const [APPROVAL] = encodeEventTopics({ abi: erc20Abi, eventName: 'Approval' });
const [TRANSFER] = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer' });

const SOMEBODY: Hex = `0x${'5'.repeat(40)}`;
/** The words of a FillQuoteOB between its size and its direction: two deltas of three words, premium, fee, rebate. */
const NO_AMOUNTS = uintWord(0).repeat(9);

/** A maker's quote on the stream, or with `spoilt` one whose signature is another quote's. */
export function publish(quote: SignedOffer, spoilt: SignedOffer | null): SimLog {
  const { taker, price, size, isBuy, deadline, salt, pool } = quote;
  const terms = addressWord(taker) + uintWord(price) + uintWord(size) + boolWord(isBuy) + uintWord(deadline);
  const signature = streamSignatureWords((spoilt ?? quote).signature);
  return {
    address: SIM_PROFILE.contracts.orderbookStream.address,
    topics: [PUBLISH, `0x${'4'.repeat(64)}`, pad(quote.provider)],
    data: `0x${terms}${uintWord(salt)}${signature}${poolKeyWords(pool.poolKey)}`,
  };
}

/** Nothing of it can be read. */
export function publishNonsense(): SimLog {
  const { address } = SIM_PROFILE.contracts.orderbookStream;
  return { address, topics: [PUBLISH, pad(SOMEBODY), pad(SOMEBODY)], data: '0x1234' };
}

/** Deploys the pool unless it is there. */
export function deploy(market: Market, pool: Pool): Happening<Market> {
  if (market.deployed.has(pool.poolAddress)) return { logs: [], state: market };
  const { base, quote, oracleAdapter, strike, maturity, isCallPool } = pool.poolKey;
  const terms = addressWord(oracleAdapter) + uintWord(strike) + uintWord(maturity) + boolWord(isCallPool);
  const log: SimLog = {
    address: SIM_PROFILE.contracts.poolFactory.address,
    topics: [DEPLOYED, pad(base), pad(quote)],
    data: `0x${terms}${addressWord(pool.poolAddress)}`,
  };
  return { logs: [log], state: { ...market, deployed: new Set([...market.deployed, pool.poolAddress]) } };
}

/** As much of `wanted` as is left; nothing where the quote can't be filled. */
export function fill(market: Market, quote: SignedOffer, wanted: bigint, timestamp: number): Happening<Market> {
  const filled = market.filled.get(quote.quoteId) ?? 0n;
  const size = wanted < quote.size - filled ? wanted : quote.size - filled;
  const hasMeans = quoteError(market, quote, size, timestamp) === 0;
  if (size <= 0n || !hasMeans) return { logs: [], state: market };
  const before = deploy(market, quote.pool);
  return {
    logs: [...before.logs, fillLog(quote, quote.pool.poolAddress, size)],
    state: { ...before.state, filled: new Map([...market.filled, [quote.quoteId, filled + size]]) },
  };
}

export function cancel(market: Market, quote: SignedOffer): Happening<Market> {
  const before = deploy(market, quote.pool);
  if (market.filled.get(quote.quoteId) === CANCELLED) return { logs: [], state: market };
  return {
    logs: [...before.logs, cancelLog(quote, quote.provider)],
    state: { ...before.state, filled: new Map([...market.filled, [quote.quoteId, CANCELLED]]) },
  };
}

/** Somebody else's contract says that the quote was filled, and somebody else that it is cancelled. */
export function lie(market: Market, quote: SignedOffer): Happening<Market> {
  const lies = [fillLog(quote, SOMEBODY, quote.size), cancelLog(quote, SOMEBODY)];
  return { logs: lies, state: market };
}

/** The maker has or allows this much from now on. */
export function setMeans(market: Market, of: 'allowance' | 'balance', maker: Hex, amount: bigint): Happening<Market> {
  const router = SIM_PROFILE.contracts.erc20Router.address;
  const topics: Hex[] =
    of === 'allowance' ? [APPROVAL, pad(maker), pad(router)] : [TRANSFER, pad(SOMEBODY), pad(maker)];
  const log: SimLog = { address: TOKEN, topics, data: `0x${uintWord(amount)}` };
  return { logs: [log], state: { ...market, [of]: new Map([...market[of], [maker, amount]]) } };
}

/** The code that `isQuoteOBValid` gives. `timestamp`: of the block, Unix seconds. */
export function quoteError(market: Market, quote: SignedOffer, size: bigint, timestamp: number): number {
  const filled = market.filled.get(quote.quoteId) ?? 0n;
  if (timestamp > quote.deadline) return 1;
  if (filled === CANCELLED) return 2;
  if (filled + size > quote.size) return 3;
  const needed = quote.isBuy ? (quote.price * size) / 10n ** 18n : size - (quote.price * size) / 10n ** 18n;
  if ((market.allowance.get(quote.provider) ?? PLENTY) < needed) return 8;
  if ((market.balance.get(quote.provider) ?? PLENTY) < needed) return 9;
  return 0;
}

function fillLog(quote: SignedOffer, emitter: Hex, size: bigint): SimLog {
  return {
    address: emitter,
    topics: [FILL, quote.quoteId, pad(SOMEBODY), pad(quote.provider)],
    data: `0x${uintWord(size)}${NO_AMOUNTS}${boolWord(quote.isBuy)}`,
  };
}

function cancelLog({ pool, quoteId }: SignedOffer, provider: Hex): SimLog {
  return { address: pool.poolAddress, topics: [CANCEL, pad(provider)], data: `0x${bytes32Word(quoteId)}` };
}
