import { encodeFunctionData } from 'viem';
import { readUint } from '../chain/contracts/abi-encoding.js';
import { erc20Abi } from '../chain/contracts/abi.js';
import type { ChainReader } from '../chain/contracts/chain-reader.js';
import type { TokenProfile } from '../chain/contracts/deployments.js';
import { allowanceCall } from '../chain/contracts/token-calls.js';
import type { GasAccount, Operator } from '../chain/wallet/operator.js';
import type { Hex } from '../engine/quote.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import { MAX_UINT256, parseDecimal } from '../wire/primitives.js';
import type { ApprovalAnswer, ApprovalItem, ApprovalRequest } from '../wire/answers.js';
import { TRANSACTION_UNCONFIRMED } from '../wire/unconfirmed.js';
import { atOnce, type TurnResult, turnOf, type Turns } from './turns.js';

/** An approval whose amount the token can have. */
interface Readable {
  readonly index: number;
  readonly token: TokenProfile;
  readonly units: bigint;
}

const APPROVED: ApprovalItem = { type: 'APPROVED' };

/** Lets the router take the operator's tokens: each approval sets its token's allowance, whatever that was before. */
export class CollateralApprovals {
  constructor(
    private readonly operator: Pick<Operator, 'address' | 'send' | 'deadline'>,
    private readonly reader: Pick<ChainReader, 'multicall'>,
    /** `undefined` where the chain has no token of that symbol. */
    private readonly tokenOf: (symbol: string) => TokenProfile | undefined,
    private readonly router: Hex,
    private readonly turns: Turns,
  ) {}

  /**
   * One after the other, also of one token. Each fails alone; nothing is sent where the allowance is as it should be.
   */
  async approve(approvals: readonly ApprovalRequest[], gasAccount: GasAccount): Promise<ApprovalAnswer | GasRefusal> {
    const items: ApprovalItem[] = approvals.map(() => APPROVED);
    const readable = approvals.flatMap(({ symbol, amount }, index) => {
      const token = this.tokenOf(symbol);
      const units = token === undefined ? 'There is no such token' : readUnits(amount, token.decimals);
      if (token !== undefined && typeof units === 'bigint') return [{ index, token, units }];
      items[index] = failed(String(units));
      return [];
    });
    const keys = [...new Set(readable.map(({ token }) => turnOf(token.address)))];
    const task = () => this.#all(readable, items, gasAccount);
    const result = await this.turns.runOnChain(keys, this.operator.deadline(), task);
    if (result !== 'TOO_LONG') return result;
    for (const { index } of readable) items[index] = failed('Earlier transactions are not confirmed yet');
    return { type: 'ANSWERED', items };
  }

  async #all(
    approvals: readonly Readable[],
    items: ApprovalItem[],
    gasAccount: GasAccount,
  ): Promise<TurnResult<ApprovalAnswer | GasRefusal>> {
    const allowances = await this.#allowances([...new Set(approvals.map(({ token }) => token))]);
    const needed = new Set<Readable>();
    for (const approval of approvals) {
      const { token, units } = approval;
      if (allowances.get(token) === units) continue;
      allowances.set(token, units);
      needed.add(approval);
    }
    const refusal = gasAccount.take(needed.size);
    if (refusal !== null) return atOnce(refusal);
    const ends: Promise<unknown>[] = [];
    const latest = new Map<TokenProfile, ApprovalItem>();
    for (const approval of approvals) {
      const { index, token, units } = approval;
      const isNeeded = needed.has(approval);
      // One that asks for what the one before it sets succeeds or fails with that.
      const item = isNeeded ? await this.#send(token, units, gasAccount, ends) : (latest.get(token) ?? APPROVED);
      latest.set(token, item);
      items[index] = item;
    }
    return { answer: { type: 'ANSWERED', items }, end: Promise.allSettled(ends) };
  }

  /** Null: the token does not tell. */
  async #allowances(tokens: readonly TokenProfile[]): Promise<Map<TokenProfile, bigint | null>> {
    const calls = tokens.map(({ address }) => allowanceCall(address, this.operator.address, this.router));
    const answers = await this.reader.multicall(calls);
    return new Map(tokens.map((token, i) => [token, readUint(answers[i])]));
  }

  async #send(
    { address }: TokenProfile,
    units: bigint,
    gasAccount: GasAccount,
    ends: Promise<unknown>[],
  ): Promise<ApprovalItem> {
    const data = encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [this.router, units] });
    const { outcome, end } = this.operator.send({ to: address, data }, gasAccount);
    ends.push(end);
    const result = await outcome;
    if (result === 'TOO_LONG') return failed(TRANSACTION_UNCONFIRMED);
    return result.type === 'DONE' ? APPROVED : failed(result.reason);
  }
}

/** In the token's smallest units, or why the token cannot have such an amount. */
function readUnits(amount: string, decimals: number): bigint | string {
  if (amount === 'max') return MAX_UINT256;
  const units = parseDecimal(amount, decimals);
  if (units === 'TOO_PRECISE') return `amt must NOT have more than ${decimals} decimals`;
  if (units === 'TOO_LARGE') return 'amt must be < 2^256 units';
  if (units === 'NOT_A_NUMBER') return 'amt must be a number';
  return units < 0n ? 'amt must be >= 0' : units;
}

function failed(error: string): ApprovalItem {
  return { type: 'FAILED', error };
}
