import { setTimeout } from 'node:timers/promises';
import { type Address, encodeFunctionData, maxUint256, parseAbi, TransactionReceiptNotFoundError } from 'viem';
import {
  contractErrorsAbi,
  erc20Abi,
  optionTokenAbi,
  orderbookStreamAbi,
  poolAbi,
  poolFactoryAbi,
} from '../../src/chain/contracts/abi.js';
import { priceOracleAbi, testTokenAbi } from '../../src/chain/dev/contracts.js';
import { type DevClient, devClient } from '../../src/chain/dev/dev-client.js';
import type { LocalChain } from '../../src/chain/dev/local-chain.js';
import { type Hex, type PoolKey, type Signature, ZERO_ADDRESS } from '../../src/engine/quote.js';
import type { SignedOffer } from './sign-quote.js';

export const discountsAbi = parseAbi([
  'function getDiscount(address taker) view returns (uint256)',
  'function setDiscount(address taker, uint256 discount)',
]);

export const lockableAbi = parseAbi(['function setLocked(address account, uint256 id, uint256 amount)']);

const MINED_WITHIN_MS = 120_000;

/**
 * A transaction was mined and failed, though the call before it went well: a deadline passed in between, or the chain
 * turned.
 */
export class Reverted extends Error {}

/** Actions of tests on a local chain. A call resolves once its transactions are mined. */
export class DevActions {
  readonly client: DevClient;

  constructor(readonly chain: LocalChain) {
    this.client = devClient(chain.rpcUrl, chain.chainId);
  }

  /**
   * Sends as an account that anvil signs for. Rejects with the contract's error when the call would revert, with
   * Reverted when it did.
   */
  async send(from: Hex, to: Hex, data: Hex): Promise<Hex> {
    await this.client.call({ account: from, to, data });
    // A second later a root may take one more step: the node's estimate is the least that suffices.
    const gas = (await this.client.estimateGas({ account: from, to, data })) * 2n;
    const hash = await this.client.sendTransaction({ account: from, to, data, gas });
    if ((await this.mined(hash)) !== 'success') throw new Reverted(`${hash} reverted`);
    return hash;
  }

  /**
   * The receipt of the transaction, once it is in a block. Polls for it: viem's own waiting looks at new
   * blocks only, passes over one that comes while it compares another, and there may never be a next one here.
   */
  private async mined(hash: Hex): Promise<'success' | 'reverted'> {
    for (const end = Date.now() + MINED_WITHIN_MS; ; await setTimeout(this.client.pollingInterval)) {
      const receipt = await this.client.getTransactionReceipt({ hash }).catch((error: unknown) => {
        if (!(error instanceof TransactionReceiptNotFoundError)) throw error;
        if (Date.now() > end) throw new Error(`${hash} is in no block after ${MINED_WITHIN_MS} ms`, { cause: error });
      });
      if (receipt) return receipt.status;
    }
  }

  /** `amount` in the token's own decimals. */
  mint(token: Hex, to: Hex, amount: bigint): Promise<Hex> {
    return this.send(to, token, encodeFunctionData({ abi: testTokenAbi, functionName: 'mint', args: [to, amount] }));
  }

  approve(owner: Hex, token: Hex, spender: Hex, amount = maxUint256): Promise<Hex> {
    return this.send(
      owner,
      token,
      encodeFunctionData({ abi: erc20Abi, functionName: 'approve', args: [spender, amount] }),
    );
  }

  transfer(from: Hex, token: Hex, to: Hex, amount: bigint): Promise<Hex> {
    return this.send(from, token, encodeFunctionData({ abi: erc20Abi, functionName: 'transfer', args: [to, amount] }));
  }

  balance(token: Hex, account: Hex): Promise<bigint> {
    return this.client.readContract({ address: token, abi: erc20Abi, functionName: 'balanceOf', args: [account] });
  }

  async poolAddress(poolKey: PoolKey): Promise<{ poolAddress: Hex; isDeployed: boolean }> {
    const [address, isDeployed] = await this.client.readContract({
      address: this.chain.contracts.poolFactory,
      abi: [...poolFactoryAbi, ...contractErrorsAbi],
      functionName: 'getPoolAddress',
      args: [onChain(poolKey)],
    });
    return { poolAddress: lowerCase(address), isDeployed };
  }

  async deployPool(from: Hex, poolKey: PoolKey): Promise<Hex> {
    const data = encodeFunctionData({ abi: poolFactoryAbi, functionName: 'deployPool', args: [onChain(poolKey)] });
    await this.send(from, this.chain.contracts.poolFactory, data);
    return (await this.poolAddress(poolKey)).poolAddress;
  }

  /** Emits the quotes on the stream, whatever is in them. */
  publish(from: Hex, offers: readonly SignedOffer[]): Promise<Hex> {
    const quotes = offers.map(({ pool, deadline, salt, ...rest }) => ({
      ...rest,
      poolKey: onChain(pool.poolKey),
      deadline: BigInt(deadline),
      salt: BigInt(salt),
    }));
    const data = encodeFunctionData({ abi: orderbookStreamAbi, functionName: 'add', args: [quotes] });
    return this.send(from, this.chain.contracts.orderbookStream, data);
  }

  /** `taker` fills `size` of the quote. */
  fill(taker: Hex, offer: SignedOffer, size: bigint): Promise<Hex> {
    const data = encodeFunctionData({
      abi: poolAbi,
      functionName: 'fillQuoteOB',
      args: [quoteOb(offer), size, poolSignature(offer.signature), ZERO_ADDRESS],
    });
    return this.send(taker, offer.pool.poolAddress, data);
  }

  /** Anyone may name any id; only the sender's own quotes are cancelled by it. */
  cancel(from: Hex, poolAddress: Hex, quoteIds: readonly Hex[]): Promise<Hex> {
    return this.send(
      from,
      poolAddress,
      encodeFunctionData({ abi: poolAbi, functionName: 'cancelQuotesOB', args: [quoteIds] }),
    );
  }

  /** US dollars per token, 1e-18. */
  setUsdPrice(token: Hex, price: bigint): Promise<Hex> {
    return this.setOnOracle(
      encodeFunctionData({ abi: priceOracleAbi, functionName: 'setUsdPrice', args: [token, price] }),
    );
  }

  /** The price at which the pool's options settle, 1e-18 quote tokens per base token. */
  setSettlementPrice({ base, quote, maturity }: PoolKey, price: bigint): Promise<Hex> {
    const args = [base, quote, BigInt(maturity), price] as const;
    return this.setOnOracle(encodeFunctionData({ abi: priceOracleAbi, functionName: 'setPriceAt', args }));
  }

  /** `discount` 1e-18, at most 1. */
  setDiscount(taker: Hex, discount: bigint): Promise<Hex> {
    const data = encodeFunctionData({ abi: discountsAbi, functionName: 'setDiscount', args: [taker, discount] });
    return this.send(this.chain.accounts[0]?.address ?? ZERO_ADDRESS, this.chain.contracts.discounts, data);
  }

  /** Makes part of an option balance unusable for its holder. */
  lockContracts(account: Hex, poolAddress: Hex, id: bigint, amount: bigint): Promise<Hex> {
    const args = [account, id, amount] as const;
    return this.send(account, poolAddress, encodeFunctionData({ abi: lockableAbi, functionName: 'setLocked', args }));
  }

  /** What `holder` has of an option token, 1e-18 contracts. */
  contracts(poolAddress: Hex, holder: Hex, id: bigint): Promise<bigint> {
    const args = [holder, id] as const;
    return this.client.readContract({ address: poolAddress, abi: optionTokenAbi, functionName: 'balanceOf', args });
  }

  /** By a `TransferSingle`. */
  moveContracts(from: Hex, to: Hex, poolAddress: Hex, id: bigint, amount: bigint): Promise<Hex> {
    const args = [from, to, id, amount, '0x'] as const;
    const data = encodeFunctionData({ abi: optionTokenAbi, functionName: 'safeTransferFrom', args });
    return this.send(from, poolAddress, data);
  }

  /** Unix seconds of the newest block. */
  async now(): Promise<number> {
    return Number((await this.client.getBlock()).timestamp);
  }

  /** Mines a block with that timestamp; time goes on from there. */
  async moveTimeTo(timestamp: number): Promise<void> {
    await this.client.setNextBlockTimestamp({ timestamp: BigInt(timestamp) });
    await this.client.mine({ blocks: 1 });
  }

  /** Replaces the newest `depth` blocks by as many empty ones. */
  async reorg(depth: number): Promise<void> {
    await this.client.request<{ Method: 'anvil_reorg'; Parameters: unknown[]; ReturnType: unknown }>({
      method: 'anvil_reorg',
      params: [depth, []],
    });
  }

  private setOnOracle(data: Hex): Promise<Hex> {
    return this.send(this.chain.accounts[0]?.address ?? ZERO_ADDRESS, this.chain.contracts.oracleAdapter, data);
  }
}

/** The key as viem encodes it. */
export function onChain(poolKey: PoolKey): Omit<PoolKey, 'maturity'> & { maturity: bigint } {
  return { ...poolKey, maturity: BigInt(poolKey.maturity) };
}

/** The quote as the pool takes it. */
export function quoteOb({ provider, taker, price, size, isBuy, deadline, salt }: SignedOffer) {
  return { provider, taker, price, size, isBuy, deadline: BigInt(deadline), salt: BigInt(salt) };
}

export function poolSignature({ r, s, v }: Signature): Signature {
  return { v, r, s };
}

function lowerCase(address: Address): Hex {
  return address.toLowerCase() as Hex;
}
