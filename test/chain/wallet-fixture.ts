import type { Test } from 'tap';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { type Anvil, startAnvil } from '../../src/chain/dev/anvil.js';
import { type DevClient, devClient } from '../../src/chain/dev/dev-client.js';
import { derivedAccounts } from './dev/derived-accounts.js';
import { IntentLog } from '../../src/chain/wallet/intent-log.js';
import { WalletSpending } from '../../src/chain/wallet/spending.js';
import { Wallet, type WalletLimits } from '../../src/chain/wallet/wallet.js';
import type { Hex } from '../../src/engine/quote.js';
import { systemClock } from '../../src/system/clock.js';
import { ManualClock } from '../system/manual-clock.js';
import { httpRpc } from './following.js';
import { MemoryKeyValueStore } from './memory-key-value-store.js';
import { RpcProxy } from './rpc-proxy.js';

const CHAIN_ID = 421_613;
const ACCOUNTS = 30;
/** Wei; anvil's own. */
const START_BALANCE = 10_000n * 10n ** 18n;
/** Far longer than anything that is waited for takes: a hang is to become an error. */
const PATIENCE_MS = 30_000;

const RESEND_AFTER_MS = 10_000;
/** How much time passes for a wallet between two turns of real I/O. */
const STEP_MS = 1_000;
const LIMITS: WalletLimits = {
  inFlight: 16,
  waiting: 100,
  receiptPollMs: 100,
  resendAfterMs: RESEND_AFTER_MS,
  resends: 3,
  maxFeePerGas: 500n * 10n ** 9n,
  reorgDepth: 64,
  remembered: 64,
};

export const NOBODY: Hex = '0x000000000000000000000000000000000000dead';

/** A transaction to an address that nobody has; its data identifies it. */
export const request = (data: Hex) => ({ to: NOBODY, data });

/** A transaction that was mined or waits in the node's pool. */
export interface SeenTx {
  readonly nonce: number;
  readonly data: Hex;
  readonly maxFeePerGas: bigint;
}

export interface PooledTx extends SeenTx {
  readonly hash: Hex;
}

/** A chain without contracts that mines only when a test asks for it. */
export class QuietChain {
  readonly client: DevClient;
  #accounts = derivedAccounts(ACCOUNTS).values();

  private constructor(readonly anvil: Anvil) {
    this.client = devClient(anvil.rpcUrl, CHAIN_ID);
  }

  static async start(): Promise<QuietChain> {
    return new QuietChain(
      await startAnvil({ chainId: CHAIN_ID, extraArgs: ['--no-mining', '--accounts', `${ACCOUNTS}`] }),
    );
  }

  /** The key of an account that nobody has used yet. */
  newKey(): PrivateKeyAccount {
    const next = this.#accounts.next();
    if (next.done === true) throw new Error('There are no more accounts');
    return privateKeyToAccount(next.value.privateKey);
  }

  /** The first life of the wallet of such an account; it ends with the test. */
  async newRun(t: Test, limits: Partial<WalletLimits> = {}): Promise<WalletRun> {
    const run = await WalletRun.start(this, this.newKey(), undefined, limits);
    t.teardown(() => run.die());
    return run;
  }

  /** Wei that this account has paid for gas, as long as it sent nothing else. */
  async paidBy({ address }: PrivateKeyAccount): Promise<bigint> {
    return START_BALANCE - (await this.client.getBalance({ address }));
  }

  mine(): Promise<void> {
    return this.client.mine({ blocks: 1 });
  }

  /** Sent by the same key, and not by the wallet. */
  sendAsStranger(account: PrivateKeyAccount, nonce: number, maxFeePerGas?: bigint): Promise<Hex> {
    const fees = maxFeePerGas === undefined ? {} : { maxFeePerGas, maxPriorityFeePerGas: 1n };
    return this.client.sendTransaction({
      account: account.address,
      to: NOBODY,
      data: '0x57',
      nonce,
      gas: 50_000n,
      ...fees,
    });
  }

  /** Every transaction of this account in the chain, in order. */
  async minedOf({ address }: PrivateKeyAccount): Promise<SeenTx[]> {
    const height = Number(await this.client.getBlockNumber());
    const numbers = Array.from({ length: height + 1 }, (_, number) => BigInt(number));
    const blocks = await Promise.all(
      numbers.map((blockNumber) => this.client.getBlock({ blockNumber, includeTransactions: true })),
    );
    const own = blocks.flatMap(({ transactions }) =>
      transactions.filter(({ from }) => from.toLowerCase() === address.toLowerCase()),
    );
    return own.map(toSeen);
  }

  /** Transactions in the node's pool, by nonce. */
  async poolOf({ address }: PrivateKeyAccount): Promise<PooledTx[]> {
    const { pending, queued } = await this.client.getTxpoolContent();
    const own = [pending, queued].flatMap((part) =>
      Object.entries(part).flatMap(([from, txs]) =>
        from.toLowerCase() === address.toLowerCase() ? Object.values(txs) : [],
      ),
    );
    return own
      .map(({ hash, nonce, input, maxFeePerGas }) => ({
        hash,
        nonce: Number(nonce),
        data: input,
        maxFeePerGas: BigInt(maxFeePerGas ?? 0),
      }))
      .sort((a, b) => a.nonce - b.nonce);
  }
}

function toSeen({
  nonce,
  input,
  maxFeePerGas,
}: {
  nonce: number;
  input: Hex;
  maxFeePerGas?: bigint | undefined;
}): SeenTx {
  return { nonce, data: input, maxFeePerGas: maxFeePerGas ?? 0n };
}

/** One process's life of a wallet, on a clock of its own, behind a proxy that may play tricks. */
export class WalletRun {
  readonly clock = new ManualClock();
  readonly troubles: string[] = [];

  private constructor(
    readonly wallet: Wallet,
    readonly account: PrivateKeyAccount,
    readonly proxy: RpcProxy,
    readonly values: MemoryKeyValueStore,
    /** What it has spent, as the next process finds it. */
    readonly spent: MemoryKeyValueStore,
  ) {}

  static async start(
    chain: QuietChain,
    account: PrivateKeyAccount,
    values = new MemoryKeyValueStore(),
    limits: Partial<WalletLimits> = {},
    spent = new MemoryKeyValueStore(),
    capWei: bigint | null = null,
  ): Promise<WalletRun> {
    const proxy = await RpcProxy.open(chain.anvil.rpcUrl);
    const run: WalletRun = new WalletRun(
      new Wallet(
        new WalletSpending({
          capWei,
          nowMs: () => 0,
          remembered: LIMITS.remembered + LIMITS.inFlight,
          kept: { values: spent, name: 'spent' },
        }),
        httpRpc([proxy.url]),
        CHAIN_ID,
        account,
        new IntentLog(values),
        {
          monotonicMs: () => run.clock.monotonicMs(),
          wallMs: () => run.clock.wallMs(),
          after: (ms, task) => run.clock.after(ms, task),
        },
        { ...LIMITS, ...limits },
        (nonce, what) => run.troubles.push(`${nonce}: ${what}`),
      ),
      account,
      proxy,
      values,
      spent,
    );
    return run;
  }

  /** The process is gone: whatever it waits for never comes, and what it asks reaches nobody. */
  die(): void {
    this.proxy.trick = () => 'HANG';
    this.wallet.stop();
    this.proxy.close();
  }

  /** Time passes for the wallet until it is so. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const giveUpAtMs = systemClock.monotonicMs() + PATIENCE_MS;
    while (!(await isSo())) {
      if (systemClock.monotonicMs() > giveUpAtMs) throw new Error(`It never came; ${this.troubles.join('; ')}`);
      this.clock.advance(STEP_MS);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  /** Resolves to them when so many of its transactions wait in the node's pool. */
  async inPool(chain: QuietChain, count: number): Promise<readonly PooledTx[]> {
    await this.until(async () => (await chain.poolOf(this.account)).length === count);
    return chain.poolOf(this.account);
  }

  /** Time passes, and a block comes now and then, until it is settled. */
  async whileMining<T>(chain: QuietChain, promise: Promise<T>): Promise<T> {
    const settled = { yet: false };
    const over = promise.finally(() => (settled.yet = true));
    over.catch(() => undefined);
    await this.until(async () => {
      await chain.mine();
      return settled.yet;
    });
    return over;
  }
}
