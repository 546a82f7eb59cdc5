import type { Hex } from '../../engine/quote.js';

/** The wallet cannot pay for gas. */
export class InsufficientFunds extends Error {
  override readonly name = 'InsufficientFunds';
  constructor(wallet: Hex, message = `The wallet ${wallet} has no money for gas`) {
    super(message);
  }
}

/** The wallet has reached its daily cap; it may spend again in `waitMs` milliseconds. */
export class SpendCapReached extends InsufficientFunds {
  constructor(
    wallet: Hex,
    readonly waitMs: number,
  ) {
    super(wallet, `The wallet ${wallet} has spent what it may in a day`);
  }
}

/** The gas estimate failed: the transaction would revert with this data. */
export class WouldRevert extends Error {
  override readonly name = 'WouldRevert';
  constructor(readonly data: Hex) {
    super('The transaction would revert');
  }
}

/** No node accepted the transaction at any fee: it was not sent. */
export class TxRefused extends Error {
  override readonly name = 'TxRefused';
}

/**
 * The intent could not be written, so the transaction was neither signed nor sent. The disk is full, or it fails, which
 * ends the process.
 */
export class IntentNotPersisted extends Error {
  override readonly name = 'IntentNotPersisted';
  constructor(cause: unknown) {
    super('The transaction could not be written down', { cause });
  }
}

/** The transaction was mined and reverted. */
export class TxReverted extends Error {
  override readonly name = 'TxReverted';
}

/** The wallet stopped before the transaction's outcome was known. */
export class WalletStopped extends Error {
  override readonly name = 'WalletStopped';
}

/** The queue of waiting transactions is full. */
export class WalletBusy extends Error {
  override readonly name = 'WalletBusy';
}
