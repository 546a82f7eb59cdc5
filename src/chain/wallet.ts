import type { PrivateKeyAccount } from 'viem/accounts';
import type { Clock, Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { revertData } from './chain-reader.js';
import { broadcast, type BroadcastOutcome } from './broadcast.js';
import { FeeQuote, higherFees, raiseByAnEighth, type Fees } from './fees.js';
import { NonceLine } from './nonce-line.js';
import { NoGasMoney, TxLost, WalletBusy, WalletStopped, WouldRevert } from './wallet-errors.js';

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

/** Looks for the receipt of a transaction whose nonce is used up, before it is taken for replaced: indexes lag behind heads. */
const LAST_LOOKS = 5;

/**
 * One key on one chain. Nonces are given out one at a time, in the order of sending, so that no gap and no clash arises. A
 * transaction that is not mined in time is sent again under the same nonce for more, so that never two versions are mined;
 * one that waits behind a nonce that nobody sends gets an empty transaction there.
 */
export class Wallet {
  readonly address: Hex;
  readonly #fees: FeeQuote;
  readonly #nonces: NonceLine;
  #inFlight = 0;
  readonly #waiting: (() => void)[] = [];
  #sending: Promise<unknown> = Promise.resolve();
  readonly #pauses = new Set<() => void>();
  #stopped = false;

  constructor(
    private readonly rpc: Rpc,
    private readonly chainId: number,
    private readonly account: PrivateKeyAccount,
    private readonly clock: Clock,
    private readonly limits: WalletLimits,
  ) {
    this.address = account.address.toLowerCase() as Hex;
    this.#fees = new FeeQuote(rpc);
    this.#nonces = new NonceLine(rpc, this.address);
  }

  /** A new block may hold what is waited for: look now. */
  onHead(): void {
    for (const end of [...this.#pauses]) end();
  }

  /** Rejects all that waits with WalletStopped. What was sent may still be mined. */
  stop(): void {
    this.#stopped = true;
    this.onHead();
  }

  /** Resolves when mined. Rejects with NoGasMoney, WouldRevert, TxLost, WalletBusy, WalletStopped, or the chain's own error. */
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
      try {
        const receipt = await this.#awaitReceipt(request, sent);
        if (receipt !== 'NONCE_TAKEN') return receipt;
      } finally {
        this.#nonces.release(sent.nonce);
      }
    }
  }

  /** One at a time: a nonce is only given out once its predecessor has been sent. */
  #inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = this.#sending.then(task, task);
    this.#sending = result.catch(() => undefined);
    return result;
  }

  async #sendNext(request: Required<TxRequest>): Promise<SentTx> {
    let lowestNonce = 0;
    let floor: Fees | null = null;
    for (let attempt = 0; attempt <= this.limits.resends; attempt++) {
      const [next, current] = await Promise.all([this.#nonces.next(), this.#fees.current()]);
      const nonce = Math.max(next, lowestNonce);
      const fees: Fees = floor === null ? current : higherFees(floor, current);
      const { txHash, outcome } = await this.#broadcast(request, nonce, fees);
      if (outcome === 'SENT') {
        this.#nonces.take(nonce);
        return { nonce, fees, hashes: [txHash] };
      }
      if (outcome === 'UNDERPRICED') floor = raiseByAnEighth(fees);
      else lowestNonce = nonce + 1;
    }
    throw new TxLost(`The node would not take it in ${this.limits.resends + 1} tries`);
  }

  async #broadcast(
    { to, data, gas }: Required<TxRequest>,
    nonce: number,
    fees: Fees,
  ): Promise<{ txHash: Hex; outcome: BroadcastOutcome }> {
    const { chainId } = this;
    try {
      return await broadcast(this.rpc, this.account, { chainId, nonce, to, data, gas, ...fees });
    } catch (error) {
      throw this.#named(error);
    }
  }

  async #awaitReceipt(request: Required<TxRequest>, sent: SentTx): Promise<TxReceipt | 'NONCE_TAKEN'> {
    let { fees } = sent;
    for (let resend = 0; resend <= this.limits.resends; resend++) {
      const receipt = await this.#watch(sent);
      if (receipt !== null) return receipt;
      try {
        if ((await this.#nonces.count('latest')) > sent.nonce) return await this.#minedOrTaken(sent);
        fees = higherFees(raiseByAnEighth(fees), await this.#fees.current());
        await this.#fillGapsBefore(sent.nonce, fees);
        sent.hashes.push((await this.#broadcast(request, sent.nonce, fees)).txHash);
      } catch {
        // No answer, or no money for the higher fee: the next round looks for a receipt and tries again.
      }
    }
    throw new TxLost(`Not mined after ${this.limits.resends} resends: nonce ${sent.nonce} of ${this.address}`);
  }

  /** The receipt, or null when there is none in the time that a transaction may take. */
  async #watch({ hashes }: SentTx): Promise<TxReceipt | null> {
    const giveUpAtMs = this.clock.monotonicMs() + this.limits.resendAfterMs;
    for (;;) {
      if (this.#stopped) throw new WalletStopped('The service is stopping');
      const receipt = await this.#findReceipt(hashes).catch(() => null);
      if (receipt !== null || this.clock.monotonicMs() >= giveUpAtMs) return receipt;
      await this.#pause(this.limits.receiptPollMs);
    }
  }

  /** The nonce is used up: by one of our versions, or by another signer's transaction. */
  async #minedOrTaken({ hashes }: SentTx): Promise<TxReceipt | 'NONCE_TAKEN'> {
    for (let look = 0; look < LAST_LOOKS; look++) {
      const receipt = await this.#findReceipt(hashes);
      if (receipt !== null) return receipt;
      await this.#pause(this.limits.receiptPollMs);
    }
    return 'NONCE_TAKEN';
  }

  /** The chain waits for nonces that nobody sends: transfers of nothing to ourselves let the rest go on. */
  async #fillGapsBefore(nonce: number, fees: Fees): Promise<void> {
    const empty = { to: this.address, data: '0x' as const };
    for (const gap of await this.#nonces.gapsBefore(nonce)) {
      await this.#broadcast({ ...empty, gas: await this.#estimate(empty) }, gap, fees);
    }
  }

  /** Ends early with the next block, or when the wallet is stopped. */
  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const end = (): void => {
        cancel();
        this.#pauses.delete(end);
        resolve();
      };
      const cancel = this.clock.after(ms, end);
      this.#pauses.add(end);
    });
  }

  async #findReceipt(hashes: readonly Hex[]): Promise<TxReceipt | null> {
    for (const txHash of hashes) {
      const answer = await this.rpc.request({ method: 'eth_getTransactionReceipt', params: [txHash] });
      if (answer === null || typeof answer !== 'object') continue;
      const { blockNumber, gasUsed, status } = answer as { blockNumber: Hex; gasUsed: Hex; status: Hex };
      return { txHash, blockNumber: Number(blockNumber), gasUsed: BigInt(gasUsed), succeeded: status === '0x1' };
    }
    return null;
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
