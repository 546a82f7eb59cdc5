import { encodeFunctionData } from 'viem';
import { type Hex, type Pool, type Quote, ZERO_ADDRESS } from '../../engine/quote.js';
import type { CoverPlan, FillCall, FillCosts } from '../../wire/answers.js';
import { type ContractCall, readUint } from '../contracts/abi-encoding.js';
import { poolAbi } from '../contracts/abi.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { unlessChainFails } from '../contracts/contract-errors.js';
import type { Profile } from '../contracts/deployments.js';
import { fillAmounts, fillCalldata, fillFeeCall, TokenUnits } from '../contracts/fills.js';
import { collateralToken } from '../contracts/quote-types.js';
import { decimalsCall } from '../contracts/token-calls.js';

/** A part of a quote that a taker wants: 1e-18 contracts. */
export interface QuotePart {
  readonly quote: Quote;
  readonly take: bigint;
}

/** Turns the parts of one pool's quotes into what a taker has to pay and send. */
export class FillPlans {
  readonly #reader: Pick<ChainReader, 'multicall'>;
  readonly #contracts: Pick<Profile['contracts'], 'poolDiamond' | 'erc20Router'>;

  constructor(
    reader: Pick<ChainReader, 'multicall'>,
    contracts: Pick<Profile['contracts'], 'poolDiamond' | 'erc20Router'>,
  ) {
    this.#reader = reader;
    this.#contracts = contracts;
  }

  /**
   * `parts`: of quotes of one pool. `taker`: whose discount counts; null: without one. Fees come from the pools' own
   * code. CHAIN_UNREACHABLE: the chain does not answer. FAILED: the token or the pool does not.
   */
  async plan(parts: readonly QuotePart[], taker: Hex | null): Promise<CoverPlan | 'CHAIN_UNREACHABLE' | 'FAILED'> {
    const [first] = parts;
    if (first === undefined) return { legs: [], approval: null, bundle: null };
    const token = collateralToken(first.quote);
    const { pool } = first.quote;
    const asked: ContractCall = { ...decimalsCall(token), runsForeignCode: true };
    // The shared diamond answers for pools that are not deployed yet, too.
    const diamond = this.#contracts.poolDiamond.address;
    const feeCalls = parts.map(({ quote, take }) => fillFeeCall(diamond, quote, take, taker ?? ZERO_ADDRESS));
    const answers = await unlessChainFails(() => this.#reader.multicall([asked, ...feeCalls]), null);
    if (answers === null) return 'CHAIN_UNREACHABLE';
    const [tokenDecimals, ...fees] = answers.map((answer) => (answer.reverted ? null : readUint(answer)));
    if (tokenDecimals === null || tokenDecimals === undefined || tokenDecimals > MAX_DECIMALS) return 'FAILED';
    const decimals = Number(tokenDecimals);
    const units = new TokenUnits(decimals);
    const legs: FillCosts[] = [];
    for (const [i, part] of parts.entries()) {
      const fee = fees[i] ?? null;
      if (fee === null) return 'FAILED';
      legs.push(fillCosts(part, fee, units));
    }
    const spender = this.#contracts.erc20Router.address.toLowerCase() as Hex;
    const amount = legs.reduce((sum, { pays }) => sum + pays, 0n);
    return { legs, approval: { token, decimals, spender, amount }, bundle: bundleOf(pool, legs) };
  }
}

/** No token of the protocol has more; a larger number would make amounts of any length. */
const MAX_DECIMALS = 36n;

function fillCosts({ quote, take }: QuotePart, fee: bigint, units: TokenUnits): FillCosts {
  const { premium, collateral, pays } = fillAmounts(quote, take, 0n, fee);
  return {
    premium: units.down(premium),
    fee: units.up(fee),
    collateral: units.up(collateral),
    pays: units.up(pays),
    call: { to: quote.pool.poolAddress, data: fillCalldata(quote, take, ZERO_ADDRESS) },
  };
}

function bundleOf({ poolAddress }: Pool, legs: readonly FillCosts[]): FillCall | null {
  if (legs.length < 2) return null;
  const args = [legs.map(({ call }) => call.data)] as const;
  return { to: poolAddress, data: encodeFunctionData({ abi: poolAbi, functionName: 'multicall', args }) };
}
