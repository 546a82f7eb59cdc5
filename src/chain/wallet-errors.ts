import type { Hex } from '../engine/quote.js';

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

/** The wallet was stopped before the transaction's end was known. */
export class WalletStopped extends Error {
  override readonly name = 'WalletStopped';
}

/** Too many transactions wait. */
export class WalletBusy extends Error {
  override readonly name = 'WalletBusy';
}
