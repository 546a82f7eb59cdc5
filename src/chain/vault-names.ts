import type { OptionTerms } from '../schema/option-json.js';
import type { VaultProfile } from './profile.js';

/**
 * The names that a pair's vault may have in a registry, the usual one first: where USDC is the bridged token its vaults
 * say USDCe, and those of the public test deployment call testWETH ETH.
 */
function namesOf({ base, quote, type }: Pick<OptionTerms, 'base' | 'quote' | 'type'>): string[] {
  const names = [`pSV-${base}/${quote}-${type}`];
  if (quote === 'USDC') names.push(`pSV-${base}/USDCe-${type}`);
  if (base === 'testWETH') names.push(`SV-ETH/${quote}-${type}`);
  return names;
}

/** Undefined where the pair has no vault of that type. */
export function findVault(
  vaults: readonly VaultProfile[],
  option: Pick<OptionTerms, 'base' | 'quote' | 'type'>,
): VaultProfile | undefined {
  for (const name of namesOf(option)) {
    const vault = vaults.find((candidate) => candidate.name === name);
    if (vault !== undefined) return vault;
  }
  return undefined;
}
