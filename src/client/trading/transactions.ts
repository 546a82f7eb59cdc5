import {
  type Abi,
  type Account,
  BaseError,
  type Chain,
  type Client,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  type Hex,
  HttpRequestError,
  keccak256,
  TimeoutError,
  TransactionNotFoundError,
  type TransactionReceipt,
  TransactionReceiptNotFoundError,
  type Transport,
  type WalletClient,
} from 'viem';
import { getCode, getTransaction, getTransactionReceipt, simulateContract, writeContract } from 'viem/actions';
import type { ClientClock } from '../ports.js';
import { ContractRefusedError, NoContractError, NotMinedError, RevertedError } from './errors.js';

/** A viem wallet client with an account and a chain. It also reads: its transport is a node of the settlement chain. */
export type TradingWallet = WalletClient<Transport, Chain, Account>;

export interface Call {
  readonly address: Hex;
  readonly abi: Abi;
  readonly functionName: string;
  readonly args: readonly unknown[];
}

/** A mined transaction. */
export interface Transaction {
  readonly hash: Hex;
  readonly blockNumber: bigint;
}

export interface MinedIn {
  /** How long a transaction may take to be in a block. */
  readonly minedMs: number;
  /** Between looks for its receipt. */
  readonly pollMs: number;
}

/** Sends calls of one account, each after a dry run, and waits for their blocks. */
export class Transactions {
  /** Resolves when the last transaction was given to the node: nonces follow the order of the calls. */
  #sent: Promise<unknown> = Promise.resolve();

  constructor(
    readonly wallet: TradingWallet,
    private readonly clock: ClientClock,
    private readonly timeouts: MinedIn,
  ) {}

  /**
   * Rejects with ContractRefusedError or NoContractError before anything is sent, with NotMinedError or RevertedError
   * afterwards.
   */
  async send(call: Call): Promise<TransactionReceipt> {
    const hash = this.#sent.then(() => this.#submit(call));
    this.#sent = hash.catch(() => undefined);
    return this.#receipt(await hash);
  }

  async #submit(call: Call): Promise<Hex> {
    const { wallet } = this;
    const simulated = simulateContract(wallet as Client<Transport, Chain>, { ...call, account: wallet.account });
    // A call of an address without code succeeds, and does nothing.
    const [code, { request }] = await Promise.all([
      getCode(wallet, { address: call.address }),
      simulated.catch((error: unknown) => {
        throw refusal(error);
      }),
    ]);
    if (code === undefined) throw new NoContractError(call.address);
    // viem's request has the ABI of the function alone, which does not name the contract's errors.
    return this.#write({ ...(request as Parameters<typeof writeContract>[1]), abi: call.abi });
  }

  /** An account that signs here knows its transaction's hash even if the node's answer is lost. */
  async #write(request: Parameters<typeof writeContract>[1]): Promise<Hex> {
    const { account } = this.wallet;
    if (account.type !== 'local') return writeContract(this.wallet, request);
    const hashes: Hex[] = [];
    const signer: typeof account = {
      ...account,
      async signTransaction(...args: Parameters<typeof account.signTransaction>) {
        const signed = await account.signTransaction(...args);
        hashes.push(keccak256(signed));
        return signed;
      },
    };
    try {
      return await writeContract(this.wallet, { ...request, account: signer });
    } catch (error) {
      const [hash] = hashes;
      // The contract may refuse to the estimate of the gas what the dry run allowed.
      if (hash === undefined) throw refusal(error);
      if (await this.#mayBeSent(hash, error)) return hash;
      throw error;
    }
  }

  /** A node that is asked again refuses what it took the first time, such as for its nonce. */
  async #mayBeSent(hash: Hex, error: unknown): Promise<boolean> {
    if (isLost(error)) return true;
    return getTransaction(this.wallet, { hash }).then(
      () => true,
      (unknown: unknown) => !(unknown instanceof TransactionNotFoundError),
    );
  }

  /** viem's own waiting looks at new blocks only, and a local chain may make none after this one. */
  async #receipt(hash: Hex): Promise<TransactionReceipt> {
    const { minedMs, pollMs } = this.timeouts;
    const end = this.clock.wallMs() + minedMs;
    for (;;) {
      const receipt = await getTransactionReceipt(this.wallet, { hash }).catch((error: unknown) => {
        if (error instanceof TransactionReceiptNotFoundError) return null;
        // The node does not answer at present: the transaction may be mined all the same.
        if (this.clock.wallMs() > end) throw new NotMinedError(hash, minedMs);
        return null;
      });
      if (receipt?.status === 'reverted') throw new RevertedError(hash);
      if (receipt !== null) return receipt;
      if (this.clock.wallMs() > end) throw new NotMinedError(hash, minedMs);
      await new Promise<void>((resolve) => this.clock.after(pollMs, resolve));
    }
  }
}

/** An address without code answers every call without data. */
export function lacksContract(error: unknown): boolean {
  return error instanceof BaseError && error.walk((cause) => cause instanceof ContractFunctionZeroDataError) !== null;
}

/** The node may have taken the request. */
function isLost(error: unknown): boolean {
  const isOpen = (each: unknown): boolean =>
    each instanceof TimeoutError || (each instanceof HttpRequestError && (each.status ?? 500) >= 500);
  return error instanceof BaseError && error.walk(isOpen) !== null;
}

/** The contract's named error, or the error as it is where the node failed. */
function refusal(error: unknown): unknown {
  if (!(error instanceof BaseError)) return error;
  const reverted = error.walk((each) => each instanceof ContractFunctionRevertedError);
  if (!(reverted instanceof ContractFunctionRevertedError)) return error;
  const { data, signature, reason } = reverted;
  return new ContractRefusedError(data?.errorName ?? reason ?? signature ?? 'reverted', { cause: error });
}
