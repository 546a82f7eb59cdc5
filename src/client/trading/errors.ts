import type { Hex } from 'viem';

/** The account has too little of the collateral token, or the router may move too little of it. Nothing was sent. */
export class NotEnoughMeansError extends Error {
  override readonly name = 'NotEnoughMeansError';
  readonly token: Hex;
  /** In the token's own decimals, like the other two. */
  readonly needed: bigint;
  readonly balance: bigint;
  readonly allowance: bigint;

  constructor(means: Pick<NotEnoughMeansError, 'token' | 'needed' | 'balance' | 'allowance'>) {
    const { token, needed, balance, allowance } = means;
    super(
      balance < needed
        ? `The account has ${balance} of the ${needed} units of ${token} that it needs`
        : `The router may move ${allowance} of the ${needed} units of ${token} that it needs`,
    );
    this.token = token;
    this.needed = needed;
    this.balance = balance;
    this.allowance = allowance;
  }
}

/** The contract refuses the call; `reason` is its error's name, such as `Pool__OptionNotExpired`. Nothing was sent. */
export class ContractRefusedError extends Error {
  override readonly name = 'ContractRefusedError';
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super(`The contract refuses: ${reason}`, options);
    this.reason = reason;
  }
}

/** There is no contract at the address, such as that of a pool before it is deployed. Nothing was sent. */
export class NoContractError extends Error {
  override readonly name = 'NoContractError';

  constructor(address: Hex) {
    super(`There is no contract at ${address}`);
  }
}

/** The account holds nothing that could be exercised or settled. Nothing was sent. */
export class NothingHeldError extends Error {
  override readonly name = 'NothingHeldError';
}

/** The feed was not live in time, so nothing was sent. */
export class FeedNotLiveError extends Error {
  override readonly name = 'FeedNotLiveError';
}

/** A transaction was sent. It is in no block yet, and may still come. */
export class NotMinedError extends Error {
  override readonly name = 'NotMinedError';
  readonly hash: Hex;

  constructor(hash: Hex, afterMs: number) {
    super(`The transaction ${hash} is in no block after ${afterMs} ms`);
    this.hash = hash;
  }
}

/** A transaction was mined and failed: between its dry run and its block something changed. */
export class RevertedError extends Error {
  override readonly name = 'RevertedError';
  readonly hash: Hex;

  constructor(hash: Hex) {
    super(`The transaction ${hash} reverted`);
    this.hash = hash;
  }
}

/** A transaction was mined, but the feed did not show it in time: the service is behind, or a reorg removed it. */
export class NotShownError extends Error {
  override readonly name = 'NotShownError';
  readonly hash: Hex;

  constructor(hash: Hex, afterMs: number) {
    super(`The feed does not show the transaction ${hash} after ${afterMs} ms`);
    this.hash = hash;
  }
}
