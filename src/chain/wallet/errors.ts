import type { Hex } from '../../engine/quote.js';

/** The wallet can't pay for gas. */
export class InsufficientFunds extends Error {
  override readonly name = 'InsufficientFunds';
  constructor(wallet: Hex, message = `The wallet ${wallet} has no money for gas`) {
    super(message);
  }
}

/** The wallet has spent what it may in a day; it may spend again in `waitMs` milliseconds. */
export class SpendCapReached extends InsufficientFunds {
  constructor(
    wallet: Hex,
    readonly waitMs: number,
  ) {
    super(wallet, `The wallet ${wallet} has spent what it may in a day`);
  }
}

/** The node refused to estimate it: it would revert, with this data. */
export class WouldRevert extends Error {
  override readonly name = 'WouldRevert';
  constructor(readonly data: Hex) {
    super('The transaction would revert');
  }
}

/** No node would take it, whatever it offered: it was not sent. */
export class TxRefused extends Error {
  override readonly name = 'TxRefused';
}

/**
 * The disk did not take what it is for, so that it was neither signed nor sent: it is full, or fails, which ends the
 * process.
 */
export class IntentNotPersisted extends Error {
  override readonly name = 'IntentNotPersisted';
  constructor(cause: unknown) {
    super('The transaction could not be written down', { cause });
  }
}

/** It was mined, and did nothing. */
export class TxReverted extends Error {
  override readonly name = 'TxReverted';
}

/** The wallet was stopped before the transaction's end was known. */
export class WalletStopped extends Error {
  override readonly name = 'WalletStopped';
}

/** Too many transactions wait. */
export class WalletBusy extends Error {
  override readonly name = 'WalletBusy';
}
