import type { PrivateKeyAccount } from 'viem/accounts';
import type { Clock, Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { revertData } from './chain-reader.js';
import { FeeQuote, type Fees } from './fees.js';

export interface WalletLimits {
  /** Transactions sent and not yet mined; further ones wait their turn. */
  readonly inFlight: number;
  /** Transactions waiting for a place; beyond it `send` rejects with WalletBusy. */
  readonly waiting: number;
  readonly receiptPollMs: number;
  /** How long a transaction may stay unmined before it is sent again with a higher fee. */
  readonly resendAfterMs: number;
  /** Fee rises before a transaction is given up as lost. */
  readonly resends: number;
}

export interface TxRequest {
  readonly to: Hex;
  readonly data: Hex;
  /** Gas limit; estimated by the node when absent. */
  readonly gas?: bigint;
}

export interface TxReceipt {
  readonly txHash: Hex;
  readonly blockNumber: number;
  readonly gasUsed: bigint;
  /** False: mined and reverted. */
  readonly succeeded: boolean;
}

/** The wallet can't pay for gas. */
export class NoGasMoney extends Error {
  override readonly name = 'NoGasMoney';
  constructor(readonly wallet: Hex) {
    super(`The wallet ${wallet} has no money for gas`);
  }
}

/** The node refused to estimate it: it would revert, with this data. */
export class WouldRevert extends Error {
  override readonly name = 'WouldRevert';
  constructor(readonly data: Hex) {
    super('The transaction would revert');
  }
}

/** Never mined within its resends. It may still be, later. */
export class TxLost extends Error {
  override readonly name = 'TxLost';
}

/** Too many transactions wait. */
export class WalletBusy extends Error {
  override readonly name = 'WalletBusy';
}

/**
 * One key on one chain. Nonces are given out in the order of sending, one signer at a time, so that no gap and no clash
 * arises; a transaction that is not mined in time is sent again under the same nonce with an eighth more fee.
 */
export class Wallet {
  readonly address: Hex;
  readonly #fees: FeeQuote;
  #nextNonce: number | null = null;
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];
  #sending: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly rpc: Rpc,
    private readonly chainId: number,
    private readonly account: PrivateKeyAccount,
    private readonly clock: Clock,
    private readonly limits: WalletLimits,
  ) {
    this.address = account.address.toLowerCase() as Hex;
    this.#fees = new FeeQuote(rpc);
  }

  /** Resolves when mined. Rejects with NoGasMoney, WouldRevert, TxLost, WalletBusy, or the chain's own error. */
  async send(request: TxRequest): Promise<TxReceipt> {
    await this.#takePlace();
    try {
      const gas = request.gas ?? (await this.#estimate(request));
      return await this.#sendUntilMined({ ...request, gas });
    } finally {
      this.#givePlace();
    }
  }

  async #takePlace(): Promise<void> {
    if (this.#inFlight < this.limits.inFlight) {
      this.#inFlight++;
      return;
    }
    if (this.#waiting.length >= this.limits.waiting) throw new WalletBusy('Too many transactions wait');
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** The place passes straight to whoever waits longest, so that no newcomer slips in between. */
  #givePlace(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#inFlight--;
    else next();
  }

  async #estimate({ to, data }: TxRequest): Promise<bigint> {
    try {
      const estimate = await this.rpc.request({
        method: 'eth_estimateGas',
        params: [{ from: this.address, to, data }],
      });
      return (BigInt(estimate as string) * 5n) / 4n;
    } catch (error) {
      const revert = revertData(error);
      if (revert !== null) throw new WouldRevert(revert);
      throw this.#named(error);
    }
  }

  /** Another signer with our key may take the nonce; then the transaction is sent anew under the next one. */
  async #sendUntilMined(request: Required<TxRequest>): Promise<TxReceipt> {
    for (;;) {
      const sent = await this.#inTurn(() => this.#sendNext(request));
      const receipt = await this.#awaitReceipt(request, sent);
      if (receipt !== 'NONCE_TAKEN') return receipt;
    }
  }

  /** One at a time: a nonce is only given out once its predecessor has been sent. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#sending.then(task, task);
    this.#sending = result.catch(() => undefined);
    return result;
  }

  async #sendNext(request: Required<TxRequest>): Promise<SentTx> {
    for (;;) {
      this.#nextNonce ??= await this.#countTransactions('pending');
      const nonce = this.#nextNonce;
      const fees = await this.#fees.current();
      try {
        const txHash = await this.#broadcast(request, nonce, fees);
        this.#nextNonce = nonce + 1;
        return { nonce, fees, hashes: [txHash] };
      } catch (error) {
        if (!/nonce too low/i.test((error as Error).message)) {
          this.#nextNonce = null; // whether it arrived is not known: ask the chain before the next one
          throw this.#named(error);
        }
        this.#nextNonce = Math.max(nonce + 1, await this.#countTransactions('latest'));
      }
    }
  }

  async #broadcast({ to, data, gas }: Required<TxRequest>, nonce: number, fees: Fees): Promise<Hex> {
    const { chainId } = this;
    const signed = await this.account.signTransaction({ type: 'eip1559', chainId, nonce, to, data, gas, ...fees });
    return (await this.rpc.request({ method: 'eth_sendRawTransaction', params: [signed] })) as Hex;
  }

  async #awaitReceipt(request: Required<TxRequest>, sent: SentTx): Promise<TxReceipt | 'NONCE_TAKEN'> {
    let { fees } = sent;
    for (let resend = 0; resend <= this.limits.resends; resend++) {
      const giveUpAtMs = this.clock.monotonicMs() + this.limits.resendAfterMs;
      do {
        const receipt = await this.#findReceipt(sent.hashes);
        if (receipt !== null) return receipt;
        await new Promise<void>((resolve) => this.clock.after(this.limits.receiptPollMs, resolve));
      } while (this.clock.monotonicMs() < giveUpAtMs);
      if ((await this.#countTransactions('latest')) > sent.nonce) {
        return (await this.#findReceipt(sent.hashes)) ?? 'NONCE_TAKEN';
      }
      fees = raiseByAnEighth(fees);
      try {
        sent.hashes.push(await this.#broadcast(request, sent.nonce, fees));
      } catch {
        // Underpriced, already known, or no answer: the next round looks for a receipt and raises again.
      }
    }
    this.#nextNonce = null;
    throw new TxLost(`Not mined after ${this.limits.resends} resends: nonce ${sent.nonce} of ${this.address}`);
  }

  async #findReceipt(hashes: readonly Hex[]): Promise<TxReceipt | null> {
    for (const txHash of hashes) {
      const answer = await this.rpc
        .request({ method: 'eth_getTransactionReceipt', params: [txHash] })
        .catch(() => null);
      if (answer === null || typeof answer !== 'object') continue;
      const { blockNumber, gasUsed, status } = answer as { blockNumber: Hex; gasUsed: Hex; status: Hex };
      return { txHash, blockNumber: Number(blockNumber), gasUsed: BigInt(gasUsed), succeeded: status === '0x1' };
    }
    return null;
  }

  async #countTransactions(block: 'latest' | 'pending'): Promise<number> {
    const count = await this.rpc.request({ method: 'eth_getTransactionCount', params: [this.address, block] });
    return Number(count);
  }

  #named(error: unknown): unknown {
    return /insufficient funds/i.test((error as Error).message) ? new NoGasMoney(this.address) : error;
  }
}

interface SentTx {
  readonly nonce: number;
  readonly fees: Fees;
  /** Every version sent under this nonce; any of them may be the one that is mined. */
  readonly hashes: Hex[];
}

/** Nodes replace a transaction only for at least a tenth more; an eighth is geth's own habit. */
function raiseByAnEighth(fees: Fees): Fees {
  return {
    maxFeePerGas: (fees.maxFeePerGas * 9n) / 8n + 1n,
    maxPriorityFeePerGas: (fees.maxPriorityFeePerGas * 9n) / 8n + 1n,
  };
}
