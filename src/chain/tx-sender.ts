import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { broadcast, signVersion, type BroadcastOutcome } from './broadcast.js';
import { revertData } from './chain-reader.js';
import { FeeQuote, type Fees } from './fees.js';
import type { IntentLog } from './intent-log.js';
import type { OwnTx, TxRequest } from './own-tx.js';
import type { TxAccount } from './tx-account.js';
import { readWideQuantity } from './rpc-answers.js';
import { NoGasMoney, WouldRevert } from './wallet-errors.js';

/** How a transaction of one key comes to the node: with what gas, for what fees, and never before it is written down. */
export class TxSender {
  readonly address: Hex;
  readonly #fees: FeeQuote;

  /** `maxFeePerGas`, wei: no transaction offers more, whatever the node asks. */
  constructor(
    private readonly rpc: Rpc,
    private readonly chainId: number,
    private readonly account: TxAccount,
    private readonly intents: IntentLog,
    maxFeePerGas: bigint,
  ) {
    this.address = account.address.toLowerCase() as Hex;
    this.#fees = new FeeQuote(rpc, maxFeePerGas);
  }

  /** Gas limit, a quarter above the node's estimate. Throws WouldRevert, NoGasMoney or the chain's own error. */
  async estimate({ to, data }: TxRequest): Promise<bigint> {
    try {
      const estimate = await this.rpc.request({
        method: 'eth_estimateGas',
        params: [{ from: this.address, to, data }],
      });
      return (readWideQuantity(estimate) * 5n) / 4n;
    } catch (error) {
      const revert = revertData(error);
      if (revert !== null) throw new WouldRevert(revert);
      throw this.named(error);
    }
  }

  /** What the chain asks now. */
  currentFees(): Promise<Fees> {
    return this.#fees.current();
  }

  /** Fees for a transaction that the node found underpriced. */
  raised(fees: Fees): Promise<Fees> {
    return this.#fees.next(fees, true);
  }

  /** Fees for sending it another time. */
  feesAgain({ fees }: OwnTx, mayRise: boolean): Promise<Fees> {
    return fees === null ? this.#fees.current() : this.#fees.next(fees, mayRise);
  }

  /** Written down, then signed, then sent. */
  async send(tx: OwnTx, fees: Fees): Promise<BroadcastOutcome> {
    if (!tx.isVersion(fees)) {
      // Not known as a version before: the next try would take it for one that was written down.
      await this.intents.write(tx.intentWith(fees));
      tx.addVersion(fees);
    }
    const signed = await signVersion(this.account, this.chainId, tx.intent, fees);
    if (!tx.hashes.includes(signed.txHash)) tx.hashes.push(signed.txHash);
    return broadcast(this.rpc, signed);
  }

  /** Hashes of the versions that an earlier run may have sent. */
  async learnHashes(tx: OwnTx): Promise<void> {
    const { intent } = tx;
    for (const fees of intent.versions) {
      const { txHash } = await signVersion(this.account, this.chainId, intent, fees);
      if (!tx.hashes.includes(txHash)) tx.hashes.push(txHash);
    }
  }

  /** Says in our own words that the money is out. */
  named(error: unknown): unknown {
    return /insufficient funds/i.test((error as Error).message) ? new NoGasMoney(this.address) : error;
  }
}
