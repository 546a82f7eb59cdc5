import { getAbiItem, toFunctionSelector } from 'viem';
import { addressWord, boolWord, uintWord } from '../../src/chain/contracts/abi-encoding.js';
import { erc20Abi, multicall3Abi, poolAbi, poolFactoryAbi } from '../../src/chain/contracts/abi.js';
import type { Hex } from '../../src/engine/quote.js';
import type { SignedOffer } from '../chain/sign-quote.js';
import type { SimBlock } from './sim-chain.js';
import { type Market, PLENTY, quoteError } from './sim-market.js';
import { SIM_POOLS } from './sim-quotes.js';

const AGGREGATE3 = toFunctionSelector(getAbiItem({ abi: multicall3Abi, name: 'aggregate3' }));
const POOL_ADDRESS = toFunctionSelector(getAbiItem({ abi: poolFactoryAbi, name: 'getPoolAddress' }));
const DEPLOY = toFunctionSelector(getAbiItem({ abi: poolFactoryAbi, name: 'deployPool' }));
const FILLED = toFunctionSelector(getAbiItem({ abi: poolAbi, name: 'getQuoteOBFilledAmount' }));
const VALID = toFunctionSelector(getAbiItem({ abi: poolAbi, name: 'isQuoteOBValid' }));
const ALLOWANCE = toFunctionSelector(getAbiItem({ abi: erc20Abi, name: 'allowance' }));
const BALANCE = toFunctionSelector(getAbiItem({ abi: erc20Abi, name: 'balanceOf' }));
const DECIMALS = toFunctionSelector(getAbiItem({ abi: erc20Abi, name: 'decimals' }));
const WORD = 64;

/** What the contracts of the protocol answer after a block; no code, no answer. */
export class SimContracts {
  readonly #bySalt: ReadonlyMap<number, SignedOffer>;

  constructor(quotes: readonly SignedOffer[]) {
    this.#bySalt = new Map(quotes.map((quote) => [quote.salt, quote]));
  }

  /** Return data. Throws on what nobody here should ask. */
  call(to: Hex, data: Hex, block: SimBlock<Market>): Hex {
    const selector = data.slice(0, 10);
    const words = data.slice(10).match(/.{64}/g) ?? [];
    const uint = (at: number): bigint => BigInt(`0x${words[at] ?? ''}`);
    const account = (at: number): Hex => `0x${(words[at] ?? '').slice(24)}`;
    const { state, timestamp } = block;
    switch (selector) {
      case AGGREGATE3:
        return this.#aggregate(data.slice(10), block);
      case POOL_ADDRESS: {
        const pool = SIM_POOLS.find(({ poolKey }) => poolKey.strike === uint(3));
        if (pool === undefined) break;
        return `0x${addressWord(pool.poolAddress)}${boolWord(state.deployed.has(pool.poolAddress))}`;
      }
      case DEPLOY: {
        const pool = SIM_POOLS.find(({ poolKey }) => poolKey.strike === uint(3));
        if (pool === undefined) break;
        return `0x${addressWord(pool.poolAddress)}`;
      }
      case FILLED:
        if (!state.deployed.has(to)) return '0x';
        return `0x${uintWord(state.filled.get(`0x${words[1] ?? ''}`) ?? 0n)}`;
      case VALID: {
        const quote = this.#bySalt.get(Number(uint(7)));
        if (!state.deployed.has(to)) return '0x';
        if (quote === undefined) break;
        const error = quoteError(state, quote, uint(8), timestamp);
        return `0x${boolWord(error === 0)}${uintWord(error)}`;
      }
      case ALLOWANCE:
        return `0x${uintWord(state.allowance.get(account(0)) ?? PLENTY)}`;
      case BALANCE:
        return `0x${uintWord(state.balance.get(account(0)) ?? PLENTY)}`;
      case DECIMALS:
        return `0x${uintWord(18)}`;
    }
    throw new Error(`nobody answers ${selector} at ${to}`);
  }

  /**
   * Multicall3: `(address target, bool allowFailure, bytes callData)[]` in, `(bool success, bytes returnData)[]` out.
   */
  #aggregate(digits: string, block: SimBlock<Market>): Hex {
    const number = (at: number): number => Number(`0x${digits.slice(at, at + WORD)}`);
    const items = 2 * WORD;
    const results = Array.from({ length: number(WORD) }, (_, place) => {
      const item = items + 2 * number(items + place * WORD);
      const target: Hex = `0x${digits.slice(item + 24, item + WORD)}`;
      const bytes = item + 2 * number(item + 2 * WORD);
      const start = bytes + WORD;
      return this.call(target, `0x${digits.slice(start, start + 2 * number(bytes))}`, block).slice(2);
    });
    let offset = 32 * results.length;
    const offsets: string[] = [];
    const tails = results.map((result) => {
      offsets.push(uintWord(offset));
      const padded = result.padEnd(Math.ceil(result.length / WORD) * WORD, '0');
      offset += 96 + padded.length / 2;
      return boolWord(true) + uintWord(64) + uintWord(result.length / 2) + padded;
    });
    return `0x${uintWord(32)}${uintWord(results.length)}${offsets.join('')}${tails.join('')}`;
  }
}
