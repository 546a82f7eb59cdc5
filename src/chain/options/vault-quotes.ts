import { encodeFunctionData } from 'viem';
import type { Hex, Pool, PoolKey } from '../../engine/quote.js';
import { readNewExpiration } from '../../wire/expiration.js';
import type { TokenAmount, VaultQuote, VaultTrade } from '../../wire/answers.js';
import { type CallResult, type ContractCall, readUint } from '../contracts/abi-encoding.js';
import { poolAbi, vaultAbi } from '../contracts/abi.js';
import type { ChainReader } from '../contracts/chain-reader.js';
import { unlessChainFails, revertName } from '../contracts/contract-errors.js';
import type { Profile, VaultProfile } from '../contracts/deployments.js';
import { findVault } from '../contracts/vault-names.js';
import type { PoolAddresses } from '../follow/pool-addresses.js';
import type { ChainSeconds, OptionSeries } from './option-series.js';

/** Errors that say what is wrong with the trade; others say that something is wrong with the contracts. */
const REFUSAL = /^(Vault|PoolFactory|OptionMath)__/;

export function isVaultRefusal(name: string | null): name is string {
  return name !== null && REFUSAL.test(name);
}

const ZERO: TokenAmount = { units: 0n, decimals: 0 };

/** Prices of trades between the operator and the vaults. */
export class VaultQuotes {
  constructor(
    private readonly reader: Pick<ChainReader, 'multicall'>,
    private readonly profile: Pick<Profile, 'vaults' | 'contracts'>,
    private readonly series: OptionSeries,
    private readonly pools: Pick<PoolAddresses, 'resolve'>,
    private readonly operator: Hex,
    private readonly nowSeconds: ChainSeconds,
  ) {}

  async quote(trade: VaultTrade): Promise<VaultQuote> {
    const now = this.nowSeconds();
    if (now === null) return { type: 'CHAIN_UNREACHABLE' };
    const expiration = readNewExpiration(trade.expiration, now);
    if (!expiration.ok) return { type: 'REFUSED', code: 'invalid_expiration', message: expiration.refusal };
    const vault = findVault(this.profile.vaults, trade);
    const base = this.series.token(trade.base);
    const quote = this.series.token(trade.quote);
    if (!vault || !base || !quote) return { type: 'REFUSED', code: 'unknown_vault', message: 'Vault does not exist' };
    const { decimals } = trade.type === 'C' ? base : quote;
    const key = this.series.poolKey(trade, expiration.maturity);
    return unlessChainFails(() => this.#ask(trade, key, vault, decimals), { type: 'CHAIN_UNREACHABLE' });
  }

  /** Quote and fee are asked for in one call, so that both are of the same block. */
  async #ask(trade: VaultTrade, key: PoolKey, vault: VaultProfile, decimals: number): Promise<VaultQuote> {
    // The vault says by name what is wrong with a key that the factory refuses: its own rules come first.
    const [pool] = await this.pools.resolve([key]);
    const feeCalls = trade.isBuy && pool ? this.#feeCalls(trade, pool) : [];
    const [answer, ...fees] = await this.reader.multicall([this.#quoteCall(trade, key, vault.address), ...feeCalls]);
    if (answer === undefined || answer.reverted) return refusal(answer);
    const quote = readUint(answer);
    const fee = trade.isBuy ? readFee(fees, decimals) : ZERO;
    if (quote === null || fee === null) return { type: 'FAILED' };
    return { type: 'QUOTED', vault: vault.name, quote: { units: quote, decimals }, fee };
  }

  #quoteCall({ size, isBuy }: VaultTrade, key: PoolKey, vault: Hex): ContractCall {
    const args = [{ ...key, maturity: BigInt(key.maturity) }, size, isBuy, this.operator] as const;
    return { to: vault, data: encodeFunctionData({ abi: vaultAbi, functionName: 'getQuote', args }) };
  }

  /**
   * The pool's own word in its token's decimals, and the shared diamond's in 18, which counts while there is no pool.
   */
  #feeCalls({ size }: VaultTrade, { poolAddress, poolKey }: Pool): ContractCall[] {
    const terms = [this.operator, size, 0n, true, false] as const;
    const ofKey = [...terms, poolKey.strike, poolKey.isCallPool] as const;
    return [
      { to: poolAddress, data: encodeFunctionData({ abi: poolAbi, functionName: 'takerFee', args: terms }) },
      {
        to: this.profile.contracts.poolDiamond.address,
        data: encodeFunctionData({ abi: poolAbi, functionName: '_takerFeeLowLevel', args: ofKey }),
      },
    ];
  }
}

function refusal(answer: CallResult | undefined): VaultQuote {
  const name = answer === undefined ? null : revertName(answer.data);
  if (!isVaultRefusal(name)) return { type: 'FAILED' };
  return { type: 'REFUSED', code: 'contract_refused', message: name };
}

function readFee([ofPool, ofDiamond]: readonly CallResult[], decimals: number): TokenAmount | null {
  if (ofPool === undefined || ofPool.reverted) return null;
  const isDeployed = ofPool.data !== '0x';
  const units = isDeployed ? readUint(ofPool) : readUint(ofDiamond);
  return units === null ? null : { units, decimals: isDeployed ? decimals : 18 };
}
