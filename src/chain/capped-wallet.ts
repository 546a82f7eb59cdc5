import type { TxRequest } from './own-tx.js';
import type { TxReceipt } from './receipts.js';
import { SpendCapReached } from './wallet-errors.js';
import type { WalletSpending } from './wallet-spending.js';
import { Wallet, type Means } from './wallet.js';

/** A wallet that sends nothing more once it has spent its cap, and counts what it spends, whoever waits for it. */
export class CappedWallet extends Wallet {
  readonly spending: WalletSpending;

  constructor(spending: WalletSpending, ...ofWallet: ConstructorParameters<typeof Wallet>) {
    super(...ofWallet);
    this.spending = spending;
  }

  /** As that of every wallet; rejects with SpendCapReached besides. */
  override async send(request: TxRequest, means?: Means): Promise<TxReceipt> {
    this.checkMaySpend();
    return super.send(request, means);
  }

  protected override checkMaySpend(): void {
    const waitMs = this.spending.waitMs();
    if (waitMs > 0) throw new SpendCapReached(this.address, waitMs);
    this.spending.checkKept();
  }

  protected override onMined(nonce: number, { feeWei }: TxReceipt): Promise<void> {
    return this.spending.mined(nonce, feeWei);
  }

  protected override onLost(nonce: number): Promise<void> {
    return this.spending.lost(nonce);
  }
}
