import { setImmediate as turn } from 'node:timers/promises';
import { decodeFunctionData, numberToHex } from 'viem';
import type { CallResult, ContractCall } from '../../../src/chain/contracts/abi-encoding.js';
import { optionTokenAbi, poolAbi } from '../../../src/chain/contracts/abi.js';
import { arbitrum } from '../../../src/chain/contracts/deployments.js';
import { OptionSeries } from '../../../src/chain/options/option-series.js';
import { Settler } from '../../../src/chain/options/settler.js';
import type { TxOutcome } from '../../../src/chain/wallet/operator.js';
import type { Hex } from '../../../src/engine/quote.js';
import type { OptionTerms } from '../../../src/wire/options.js';
import { ManualClock } from '../../system/manual-clock.js';
import { addressOfStrike, answerAsFactory } from '../factory-answers.js';
import { MINED, patientOperator } from './patient-operator.js';

export const MATURITY = Date.UTC(2030, 10, 29, 8) / 1000;
export const IMPOSSIBLE = 99n;
const factory = arbitrum.contracts.poolFactory.address;

/** Shorts and longs that the operator holds, by strike; every strike here is deployed. */
export type Holdings = Map<bigint, { shorts: bigint; longs: bigint }>;

export function option(strike: bigint, expiration = '29NOV30'): OptionTerms {
  return { base: 'WETH', quote: 'USDC', expiration, strike, type: 'C' };
}

interface Fakes {
  readonly holdings: Holdings;
  /** Null: it works, and closes the position. It may take its time to say. */
  readonly refuse?: (call: string) => TxOutcome | null | Promise<TxOutcome | null>;
  /** Hears of each balance that is read; null: the pool tells it. */
  readonly readBalance?: (strike: bigint) => CallResult | null;
  readonly now?: number | null;
}

/** Fake pools, slow enough that requests overlap. */
export function opened({ holdings, refuse = () => null, readBalance = () => null, now = MATURITY }: Fakes) {
  const sent: string[] = [];
  const clock = new ManualClock();
  const holdingAt = (address: Hex) => {
    const found = [...holdings].find(([strike]) => addressOfStrike(strike) === address);
    if (found === undefined) throw new Error(`nobody asked for ${address}`);
    return { strike: found[0], position: found[1] };
  };
  const answer = (call: ContractCall): CallResult => {
    if (call.to === factory) return answerAsFactory(call, [...holdings.keys()], IMPOSSIBLE);
    const { strike, position } = holdingAt(call.to);
    const fault = readBalance(strike);
    if (fault !== null) return fault;
    const { args } = decodeFunctionData({ abi: optionTokenAbi, data: call.data });
    const balance = args[1] === 0n ? position.shorts : position.longs;
    return { reverted: false, data: numberToHex(balance, { size: 32 }) };
  };
  const settler = new Settler(
    patientOperator(clock, async ({ to, data }) => {
      await turn();
      const { functionName, args } = decodeFunctionData({ abi: poolAbi, data });
      const { strike, position } = holdingAt(to);
      const call = `${functionName}(${functionName === 'annihilate' ? args[0] : ''}) of ${strike}`;
      sent.push(call);
      const refusal = await refuse(call);
      if (refusal !== null) return refusal;
      const both = position.shorts < position.longs ? position.shorts : position.longs;
      if (functionName === 'annihilate') position.shorts -= both;
      if (functionName === 'annihilate') position.longs -= both;
      if (functionName === 'settle') position.shorts = 0n;
      if (functionName === 'exercise') position.longs = 0n;
      return MINED;
    }),
    { multicall: (calls) => Promise.resolve().then(() => calls.map(answer)) },
    factory,
    new OptionSeries(arbitrum),
    () => now,
    4,
  );
  return { sent, clock, settler };
}
