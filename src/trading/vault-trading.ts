import { decodeEventLog, encodeEventTopics, encodeFunctionData } from 'viem';
import { readUint } from '../chain/contracts/abi-encoding.js';
import { erc20Abi, LONG, optionTokenAbi, vaultAbi } from '../chain/contracts/abi.js';
import type { ChainLog } from '../chain/contracts/blocks-and-logs.js';
import type { ChainReader } from '../chain/contracts/chain-reader.js';
import { unlessChainFails } from '../chain/contracts/contract-errors.js';
import type { TokenProfile, VaultProfile } from '../chain/contracts/deployments.js';
import { TokenUnits } from '../chain/contracts/fills.js';
import { allowanceCall, balanceCall, positionCall } from '../chain/contracts/token-calls.js';
import { findVault } from '../chain/contracts/vault-names.js';
import { findPools } from '../chain/follow/pool-addresses.js';
import type { ChainSeconds, OptionSeries } from '../chain/options/option-series.js';
import { isVaultRefusal, type VaultQuotes } from '../chain/options/vault-quotes.js';
import type { GasAccount, Operator, TxOutcome } from '../chain/wallet/operator.js';
import type { Hex, PoolKey } from '../engine/quote.js';
import type { GasRefusal } from '../quota/gas-budget.js';
import type { TokenCapRefusal, TokenCaps } from '../quota/token-caps.js';
import { readNewExpiration } from '../wire/expiration.js';
import type { TokenAmount } from '../wire/answers.js';
import { MAX_UINT256, parseDecimal } from '../wire/primitives.js';
import type { VaultOrder, VaultTradeAnswer } from '../wire/answers.js';
import { atOnce, type TurnResult, turnOf, type Turns } from './turns.js';

type VaultTradeOutcome = VaultTradeAnswer | GasRefusal | TokenCapRefusal;

export interface VaultTradingParts {
  readonly operator: Pick<Operator, 'address' | 'send' | 'deadline'>;
  readonly reader: Pick<ChainReader, 'multicall' | 'logs'>;
  readonly poolFactory: Hex;
  readonly vaults: readonly VaultProfile[];
  readonly series: OptionSeries;
  readonly quotes: Pick<VaultQuotes, 'quote'>;
  readonly nowSeconds: ChainSeconds;
  readonly referrer: Hex;
  readonly caps: TokenCaps;
  /** Shared with fills and approvals: one of each token at a time. */
  readonly turns: Turns;
}

/** A trade whose tokens and vault are known. */
interface Planned {
  readonly order: VaultOrder;
  readonly vault: VaultProfile;
  readonly key: PoolKey;
  readonly asset: TokenProfile;
  /** Smallest units of the asset. */
  readonly limit: bigint;
}

const FAILED: VaultTradeOutcome = { type: 'FAILED' };
const NOT_CONFIRMED: VaultTradeOutcome = { type: 'NOT_CONFIRMED' };

/** Trades options between the operator and the vaults. */
export class VaultTrading {
  constructor(private readonly parts: VaultTradingParts) {}

  async trade(order: VaultOrder, gasAccount: GasAccount): Promise<VaultTradeOutcome> {
    const { operator, turns, nowSeconds } = this.parts;
    const now = nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const planned = this.#plan(order, now);
    if ('type' in planned) return planned;
    const task = () => this.#trade(planned, gasAccount);
    const result = await turns.runOnChain([turnOf(planned.asset.address)], operator.deadline(), task);
    return result === 'TOO_LONG' ? { type: 'WAITED' } : result;
  }

  #plan(order: VaultOrder, now: number): Planned | VaultTradeOutcome {
    const { series, vaults } = this.parts;
    const vault = findVault(vaults, order);
    const [base, quote] = [series.token(order.base), series.token(order.quote)];
    if (!vault || !base || !quote) return refused('unknown_vault', 'Vault does not exist');
    const date = readNewExpiration(order.expiration, now);
    if (!date.ok) return refused('invalid_expiration', date.refusal);
    const asset = order.type === 'C' ? base : quote;
    const asked = parseDecimal(order.premiumLimit, 18);
    if (asked === 'TOO_PRECISE')
      return refused('invalid_parameter', 'premiumLimit must NOT have more than 18 decimals');
    const units = new TokenUnits(asset.decimals);
    // Rounded so that the trade is never worse than what was asked for.
    const limit = typeof asked !== 'bigint' ? null : order.isBuy ? units.down(asked) : units.up(asked);
    if (limit === null || limit > MAX_UINT256)
      return refused('invalid_parameter', 'premiumLimit must be < 2^256 units');
    return { order, vault, key: series.poolKey(order, date.maturity), asset, limit };
  }

  async #trade(planned: Planned, gasAccount: GasAccount): Promise<TurnResult<VaultTradeOutcome>> {
    const { caps, operator } = this.parts;
    const { order, vault, key, asset, limit } = planned;
    const refusal = await this.#refusal(planned);
    if (refusal !== null) return atOnce(refusal);
    const reserved = order.isBuy ? limit : 0n;
    const capped = caps.take(asset.symbol, reserved);
    if (capped !== null) return atOnce(capped);
    const takenMs = caps.nowMs();
    let spent = 0n;
    try {
      const noGas = gasAccount.take(1);
      if (noGas !== null) return atOnce(noGas);
      const args = [
        { ...key, maturity: BigInt(key.maturity) },
        order.size,
        order.isBuy,
        limit,
        this.parts.referrer,
      ] as const;
      const data = encodeFunctionData({ abi: vaultAbi, functionName: 'trade', args });
      const { outcome, end } = operator.send({ to: vault.address, data }, gasAccount);
      const result = await outcome;
      if (result === 'TOO_LONG') {
        spent = reserved;
        return { answer: NOT_CONFIRMED, end };
      }
      if (result.type !== 'DONE') return atOnce(asRefusal(result));
      // All of it, until the events say how much: reading them may throw.
      spent = reserved;
      const paid = await this.#paid(planned, result.receipt);
      if (order.isBuy && paid !== null) spent = paid.quote.units;
      return atOnce({ type: 'TRADED', vault: vault.name, txHash: result.receipt.txHash, paid });
    } finally {
      await caps.settle(asset.symbol, reserved, spent, takenMs);
    }
  }

  /** The outcome if the vault, its price or the wallet rules the trade out now; null: none of them does. */
  async #refusal({ order, vault, key, asset, limit }: Planned): Promise<VaultTradeOutcome | null> {
    const { quotes, operator, reader, poolFactory } = this.parts;
    const answer = await quotes.quote(order);
    if (answer.type !== 'QUOTED') return answer;
    const { units } = answer.quote;
    if (order.isBuy ? units > limit : units < limit) return refused('contract_refused', 'Vault__AboveMaxSlippage');
    if (order.isBuy) {
      const calls = [
        balanceCall(asset.address, operator.address),
        allowanceCall(asset.address, operator.address, vault.address),
      ];
      const [balance, allowance] = (await reader.multicall(calls)).map(readUint);
      if (balance == null || allowance == null) return FAILED;
      if (balance < units) return refused('insufficient_balance', `Not enough ${asset.symbol} to trade with vault`);
      if (allowance >= units) return null;
      return refused(
        'insufficient_allowance',
        `The vault ${vault.address} may not take enough ${asset.symbol}: approve it`,
      );
    }
    const pool = (await findPools(reader, poolFactory, [key])).get(key);
    if (pool?.type !== 'FOUND' || !pool.isDeployed) return FAILED;
    const { poolAddress } = pool;
    const approved = {
      abi: optionTokenAbi,
      functionName: 'isApprovedForAll',
      args: [operator.address, vault.address],
    } as const;
    const [longs, isApproved] = (
      await reader.multicall([
        positionCall(poolAddress, operator.address, LONG),
        { to: poolAddress, data: encodeFunctionData(approved) },
      ])
    ).map(readUint);
    if (longs == null || isApproved == null) return FAILED;
    if (longs < order.size) return refused('insufficient_balance', 'Not enough options to sell to vault');
    if (isApproved !== 0n) return null;
    return refused(
      'insufficient_allowance',
      `The vault ${vault.address} may not take options of ${poolAddress}: approve it for all`,
    );
  }

  /** By the events of the transaction. */
  async #paid(
    { order, vault, asset }: Planned,
    { txHash, blockNumber, blockHash }: Extract<TxOutcome, { type: 'DONE' }>['receipt'],
  ): Promise<{ readonly quote: TokenAmount; readonly fee: TokenAmount } | null> {
    const operator = this.parts.operator.address.toLowerCase();
    const from = order.isBuy ? operator : vault.address;
    const to = order.isBuy ? vault.address : operator;
    const query = {
      fromBlock: blockNumber,
      to: { blockNumber, blockHash },
      address: [vault.address, asset.address],
      topics: [[TRADE, TRANSFER]],
    };
    const logs = await unlessChainFails(() => this.parts.reader.logs(query), []);
    const own = logs.filter((log) => log.txHash === txHash);
    const trade = own.find(({ topics, address }) => topics[0] === TRADE && isSame(address, vault.address));
    if (trade === undefined) return null;
    const quote = own.reduce((sum, log) => sum + transferred(log, asset.address, from, to), 0n);
    const { args } = decodeEventLog({ abi: vaultAbi, eventName: 'Trade', ...asEvent(trade) });
    return { quote: { units: quote, decimals: asset.decimals }, fee: { units: args.takerFee, decimals: 18 } };
  }
}

const [TRADE] = encodeEventTopics({ abi: vaultAbi, eventName: 'Trade' });
const [TRANSFER] = encodeEventTopics({ abi: erc20Abi, eventName: 'Transfer' });

function transferred(log: ChainLog, token: Hex, from: string, to: string): bigint {
  if (log.topics[0] !== TRANSFER || !isSame(log.address, token)) return 0n;
  const { args } = decodeEventLog({ abi: erc20Abi, eventName: 'Transfer', ...asEvent(log) });
  return isSame(args.from, from) && isSame(args.to, to) ? args.value : 0n;
}

function asEvent({ topics, data }: ChainLog): { topics: [Hex, ...Hex[]]; data: Hex } {
  return { topics: topics as [Hex, ...Hex[]], data };
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** A dry run or the chain rejected the trade: its own names are for the client, others say nothing of the request. */
function asRefusal(outcome: Exclude<TxOutcome, { type: 'DONE' }>): VaultTradeOutcome {
  return outcome.type === 'REVERTED' && isVaultRefusal(outcome.name)
    ? refused('contract_refused', outcome.reason)
    : FAILED;
}

type Refusal = Extract<VaultTradeOutcome, { type: 'REFUSED' }>;

function refused(code: Refusal['code'], message: string): Refusal {
  return { type: 'REFUSED', code, message };
}
