import { createWalletClient, http, type Transport } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { contractErrorsAbi, LONG, poolAbi, SHORT } from '../../../src/chain/contracts/abi.js';
import type { DevAccount } from '../../../src/chain/dev/dev-client.js';
import { startLocalChain } from '../../../src/chain/dev/local-chain.js';
import { type Hex, type Pool, ZERO_ADDRESS } from '../../../src/engine/quote.js';
import type { TradingWallet } from '../../../src/client/trading/transactions.js';
import { DevActions, poolSignature, quoteOb } from '../dev-actions.js';
import { type Offer, type SignedOffer, signOffer } from '../sign-quote.js';

export const ONE = 10n ** 18n;

/** The traders of a test, and the pool calls that the contract tests use. One anvil serves a whole test file. */
export class Market extends DevActions {
  readonly operator = this.account(0);
  readonly maker = this.account(1);
  readonly taker = this.account(2);
  readonly stranger = this.account(3);

  static async open(t: { teardown(close: () => Promise<void>): void }): Promise<Market> {
    const chain = await startLocalChain();
    t.teardown(() => chain.stop());
    return new Market(chain);
  }

  /** Runs `test` and takes back everything that it did to the chain. */
  async isolated(test: () => Promise<void>): Promise<void> {
    const id = await this.client.snapshot();
    try {
      await test();
    } finally {
      await this.client.revert({ id });
    }
  }

  token(symbol: string): Hex {
    const address = this.chain.tokens[symbol];
    if (address === undefined) throw new Error(`there is no ${symbol}`);
    return address;
  }

  /** Sends each request once: a test counts them. */
  transport(rpcUrl = this.chain.rpcUrl): Transport {
    return http(rpcUrl, { retryCount: 0 });
  }

  /** A wallet of the client library, which signs for that account. */
  walletOf({ privateKey }: Pick<DevAccount, 'privateKey'>, transport: Transport = this.transport()): TradingWallet {
    const account = privateKeyToAccount(privateKey);
    return createWalletClient({ account, chain: this.client.chain, transport });
  }

  /** A pool against USDC that the local chain starts with: the nearest maturity of that strike. */
  pool(base: string, strike: bigint, isCallPool: boolean): Pool {
    const found = this.chain.pools.find(
      ({ poolKey }) =>
        poolKey.base === this.token(base) && poolKey.strike === strike * ONE && poolKey.isCallPool === isCallPool,
    );
    if (found === undefined) throw new Error(`there is no pool of ${base} at ${strike}`);
    return found;
  }

  /** Signed by the maker unless told otherwise: an ask of one contract at 0.1 that lives until the pool matures. */
  sign(pool: Pool, offer: Partial<Offer> = {}, signer: DevAccount = this.maker): Promise<SignedOffer> {
    const usual = { pool, price: ONE / 10n, size: ONE, isBuy: false, deadline: pool.poolKey.maturity };
    return signOffer(signer, this.chain.chainId, { ...usual, ...offer });
  }

  /** The pool's number for what is wrong with the quote; 0: it can be filled. */
  async reason(offer: SignedOffer, size = offer.size, user: Hex = this.taker.address): Promise<number> {
    const [valid, error] = await this.client.readContract({
      address: offer.pool.poolAddress,
      abi: [...poolAbi, ...contractErrorsAbi],
      functionName: 'isQuoteOBValid',
      args: [user, quoteOb(offer), size, poolSignature(offer.signature)],
    });
    if (valid !== (error === 0)) throw new Error(`valid is ${valid} with error ${error}`);
    return error;
  }

  filled(offer: SignedOffer): Promise<bigint> {
    return this.client.readContract({
      address: offer.pool.poolAddress,
      abi: poolAbi,
      functionName: 'getQuoteOBFilledAmount',
      args: [offer.provider, offer.quoteId],
    });
  }

  longs({ poolAddress }: Pool, { address }: DevAccount): Promise<bigint> {
    return this.contracts(poolAddress, address, LONG);
  }

  shorts({ poolAddress }: Pool, { address }: DevAccount): Promise<bigint> {
    return this.contracts(poolAddress, address, SHORT);
  }

  /** What `work` does to each account's balance of a token, in the token's own decimals. */
  async changes(token: Hex, accounts: readonly Hex[], work: () => Promise<unknown>): Promise<bigint[]> {
    const balances = (): Promise<bigint[]> => Promise.all(accounts.map((account) => this.balance(token, account)));
    const before = await balances();
    await work();
    return (await balances()).map((after, index) => after - (before[index] ?? 0n));
  }

  /** Sells `size` contracts of the pool by the maker to the taker, at price 0.1. */
  async trade(pool: Pool, size: bigint): Promise<void> {
    await this.fill(this.taker.address, await this.sign(pool, { size }), size);
  }

  private account(index: number): DevAccount {
    return this.chain.accounts[index] ?? { address: ZERO_ADDRESS, privateKey: '0x' };
  }
}
