import type { ChainRole } from '../../engine/command.js';
import type { Clock } from '../../engine/ports.js';
import type { KeyValueStore } from '../../persistence/disk/disk.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import type { Profile } from '../contracts/deployments.js';
import type { IntentLog } from './intent-log.js';
import { WalletSpending } from './spending.js';
import { Wallet } from './wallet.js';
import { txAccount } from './transaction.js';
import type { OnTxTrouble } from './tx-tracker.js';

/** The account that signs and pays for transactions. */
export interface OperatorAccount {
  readonly privateKey: Hex;
  /** The intent log of each chain's wallet: one and the same if both roles share a chain. */
  readonly intents: Readonly<Record<ChainRole, IntentLog>>;
  /** Most gas fees of each wallet in 24 hours; absent: no cap. */
  readonly spendPerDayWei?: bigint;
  /** Most that fills and trades with vaults pay of a token in 24 hours, such as `USDC=50000`; of others there is no cap. */
  readonly tokensPerDay?: readonly string[];
  /** Named in fills and trades with vaults; absent: no one. */
  readonly referrer?: Hex;
}

/** The settings of `config/limits.ts` that apply to wallets. */
export interface WalletNumbers {
  readonly txInFlight: number;
  readonly txWaiting: number;
  readonly receiptPollMs: number;
  readonly txResendAfterMs: number;
  readonly txResends: number;
  readonly txRemembered: number;
  readonly maxFeeGwei: number;
  readonly reorgDepth: number;
}

export interface WalletOptions {
  readonly profile: Profile;
  readonly rpc: Readonly<Record<ChainRole, Rpc>>;
  /** Null: the service runs without wallets. */
  readonly operator: OperatorAccount | null;
  readonly clock: Clock;
  /** Engine time, Unix seconds: the spending day follows it. */
  readonly nowSeconds: () => number;
  /** Stores what wallets spend; absent: kept in memory only. */
  readonly budgets?: KeyValueStore;
  readonly limits: WalletNumbers;
  readonly onTxTrouble: OnTxTrouble;
}

/** Wei. */
const GWEI = 10n ** 9n;

/** One wallet for each chain. If both roles share a chain they share the wallet, since the nonces are shared. */
export function openWallets(options: WalletOptions): Record<ChainRole, Wallet> | null {
  const { profile, rpc, operator, clock, nowSeconds, budgets, limits, onTxTrouble } = options;
  if (operator === null) return null;
  const account = txAccount(operator.privateKey);
  const walletLimits = {
    inFlight: limits.txInFlight,
    waiting: limits.txWaiting,
    receiptPollMs: limits.receiptPollMs,
    resendAfterMs: limits.txResendAfterMs,
    resends: limits.txResends,
    reorgDepth: limits.reorgDepth,
    remembered: limits.txRemembered,
    maxFeePerGas: BigInt(limits.maxFeeGwei) * GWEI,
  };
  const open = (role: ChainRole): Wallet => {
    const { chainId } = profile[role];
    const name = `wallet ${chainId} ${account.address.toLowerCase()}`;
    const spending = new WalletSpending({
      capWei: operator.spendPerDayWei ?? null,
      nowMs: () => nowSeconds() * 1000,
      remembered: limits.txRemembered + limits.txInFlight,
      kept: budgets === undefined ? null : { values: budgets, name },
    });
    const intents = operator.intents[role];
    const wallet = new Wallet(spending, rpc[role], chainId, account, intents, clock, walletLimits, onTxTrouble);
    wallet.resume();
    return wallet;
  };
  const settlement = open('settlement');
  const isOneChain = profile.settlement.chainId === profile.stream.chainId;
  return { settlement, stream: isOneChain ? settlement : open('stream') };
}
