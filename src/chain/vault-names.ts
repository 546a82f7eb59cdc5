import type { OptionTerms } from '../wire/options.js';
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

/** The option that a vault of this name is found by; null where the name is of no registry's form. */
export function pairOfVault(
  name: string,
  vaults: readonly VaultProfile[],
): Pick<OptionTerms, 'base' | 'quote' | 'type'> | null {
  const [, prefix, base, quote, type] = /^(p?SV)-([^/]+)\/(.+)-([CP])$/.exec(name) ?? [];
  if (base === undefined || quote === undefined) return null;
  const pairs = [
    { base, quote },
    { base, quote: quote.replace(/^USDCe$/, 'USDC') },
    { base: prefix === 'SV' ? base.replace(/^ETH$/, 'testWETH') : base, quote },
  ].map((pair) => ({ ...pair, type: type === 'C' ? ('C' as const) : ('P' as const) }));
  return pairs.find((pair) => findVault(vaults, pair)?.name === name) ?? null;
}
