import type { ChainRole } from '../../engine/command.js';
import type { Clock } from '../../engine/ports.js';
import type { KeyValueStore } from '../../persistence/disk/disk.js';
import type { Rpc } from '../rpc/rpc-client.js';
import type { Hex } from '../../engine/quote.js';
import type { Profile } from '../contracts/deployments.js';
import type { IntentLog } from './intent-log.js';
import { CappedWallet, WalletSpending } from './spending.js';
import { txAccount } from './transaction.js';
import type { OnTxTrouble } from './tx-tracker.js';

/** Whose money pays for what is sent. */
export interface OperatorAccount {
  readonly privateKey: Hex;
  /** Where the wallet of each chain writes down what it sends: the same one where both are the same chain. */
  readonly intents: Readonly<Record<ChainRole, IntentLog>>;
  /** What each wallet may spend on gas in 24 hours; absent: what it has. */
  readonly spendPerDayWei?: bigint;
}

/** The numbers of `config/limits.ts` that wallets are bound by. */
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
  /** Null: there are no wallets. */
  readonly operator: OperatorAccount | null;
  readonly clock: Clock;
  /** Engine time, Unix seconds: a day of spending ends by it. */
  readonly nowSeconds: () => number;
  /** Where it is kept what wallets spend; absent: it is forgotten with the process. */
  readonly budgets?: KeyValueStore;
  readonly limits: WalletNumbers;
  readonly onTxTrouble: OnTxTrouble;
}

/** Wei. */
const GWEI = 10n ** 9n;

/** One wallet a chain; one in all where both chains are the same, since there is one sequence of nonces then. */
export function openWallets(options: WalletOptions): Record<ChainRole, CappedWallet> | null {
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
  const open = (role: ChainRole): CappedWallet => {
    const { chainId } = profile[role];
    const name = `wallet ${chainId} ${account.address.toLowerCase()}`;
    const spending = new WalletSpending({
      capWei: operator.spendPerDayWei ?? null,
      nowMs: () => nowSeconds() * 1000,
      remembered: limits.txRemembered + limits.txInFlight,
      kept: budgets === undefined ? null : { values: budgets, name },
    });
    const ofWallet = [rpc[role], chainId, account, operator.intents[role], clock, walletLimits, onTxTrouble] as const;
    const wallet = new CappedWallet(spending, ...ofWallet);
    wallet.resume();
    return wallet;
  };
  const settlement = open('settlement');
  const isOneChain = profile.settlement.chainId === profile.stream.chainId;
  return { settlement, stream: isOneChain ? settlement : open('stream') };
}
