import { encodeFunctionData } from 'viem';
import { type Hex, type Pool, type Quote, ZERO_ADDRESS } from '../../engine/quote.js';
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

/** A transaction that the taker sends: the contract, and its calldata. */
export interface Call {
  readonly to: Hex;
  readonly data: Hex;
}

/**
 * Costs of filling a part of a quote. Amounts are in the smallest units of the collateral token. `premium` goes to the
 * maker (the quote is an ask) or to the taker (a bid), `collateral` is locked by a taker who sells, `fee` is the
 * protocol's. `pays`: the most that leaves the taker's account; a taker who closes a position pays less.
 */
export interface FillTerms extends QuotePart {
  readonly premium: bigint;
  readonly fee: bigint;
  readonly collateral: bigint;
  readonly pays: bigint;
  readonly call: Call;
}

/** `amount` in units of 10^-`decimals` tokens. */
export interface TokenApproval {
  readonly token: Hex;
  readonly decimals: number;
  readonly spender: Hex;
  readonly amount: bigint;
}

export interface FillPlan {
  readonly legs: readonly FillTerms[];
  /** The taker approves `spender` for `amount` of `token` first. Null: there is no leg. */
  readonly approval: TokenApproval | null;
  /** All legs in one transaction, which fills all of them or none. Null: there are fewer than two. */
  readonly bundle: Call | null;
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
  async plan(parts: readonly QuotePart[], taker: Hex | null): Promise<FillPlan | 'CHAIN_UNREACHABLE' | 'FAILED'> {
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
    const legs: FillTerms[] = [];
    for (const [i, part] of parts.entries()) {
      const fee = fees[i] ?? null;
      if (fee === null) return 'FAILED';
      legs.push(fillTerms(part, fee, units));
    }
    const spender = this.#contracts.erc20Router.address.toLowerCase() as Hex;
    const amount = legs.reduce((sum, { pays }) => sum + pays, 0n);
    return { legs, approval: { token, decimals, spender, amount }, bundle: bundleOf(pool, legs) };
  }
}

/** No token of the protocol has more; a larger number would make amounts of any length. */
const MAX_DECIMALS = 36n;

function fillTerms({ quote, take }: QuotePart, fee: bigint, units: TokenUnits): FillTerms {
  const { premium, collateral, pays } = fillAmounts(quote, take, 0n, fee);
  return {
    quote,
    take,
    premium: units.down(premium),
    fee: units.up(fee),
    collateral: units.up(collateral),
    pays: units.up(pays),
    call: { to: quote.pool.poolAddress, data: fillCalldata(quote, take, ZERO_ADDRESS) },
  };
}

function bundleOf({ poolAddress }: Pool, legs: readonly FillTerms[]): Call | null {
  if (legs.length < 2) return null;
  const args = [legs.map(({ call }) => call.data)] as const;
  return { to: poolAddress, data: encodeFunctionData({ abi: poolAbi, functionName: 'multicall', args }) };
}
