import type { OptionTerms } from '../../wire/options.js';
import type { VaultProfile } from './deployments.js';

/** A vault sells calls or puts of one pair of tokens, here by their symbols. */
type VaultPair = Pick<OptionTerms, 'base' | 'quote' | 'type'>;

/**
 * The names that a pair's vault may have in a registry, the usual one first: where USDC is the bridged token its vaults
 * say USDCe, and those of the public test deployment call testWETH ETH.
 */
function namesOf({ base, quote, type }: VaultPair): string[] {
  const names = [`pSV-${base}/${quote}-${type}`];
  if (quote === 'USDC') names.push(`pSV-${base}/USDCe-${type}`);
  if (base === 'testWETH') names.push(`SV-ETH/${quote}-${type}`);
  return names;
}

/** Undefined where the pair has no vault of that type. */
export function findVault(vaults: readonly VaultProfile[], option: VaultPair): VaultProfile | undefined {
  for (const name of namesOf(option)) {
    const vault = vaults.find((candidate) => isSame(candidate.name, name));
    if (vault !== undefined) return vault;
  }
  return undefined;
}

/** The option that a vault of this name is for; null where its tokens are not among `symbols`. */
export function pairOfVault(name: string, symbols: readonly string[]): VaultPair | null {
  const [, prefix, base, quote, type] = /^(p?SV)-([^/]+)\/(.+)-([CP])$/.exec(name) ?? [];
  if (base === undefined || quote === undefined) return null;
  const pairs = [
    { base, quote },
    { base, quote: quote.replace(/^USDCe$/, 'USDC') },
    { base: prefix === 'SV' ? base.replace(/^ETH$/, 'testWETH') : base, quote },
  ];
  for (const written of pairs) {
    const [ofBase, ofQuote] = [symbolOf(written.base, symbols), symbolOf(written.quote, symbols)];
    if (ofBase === undefined || ofQuote === undefined) continue;
    const pair = { base: ofBase, quote: ofQuote, type: type === 'C' ? ('C' as const) : ('P' as const) };
    if (namesOf(pair).some((known) => isSame(known, name))) return pair;
  }
  return null;
}

/**
 * The base tokens that have a vault: the symbol of each, by the name that the vaults have for it, in any letter case.
 */
export function basesOfVaults(
  vaults: readonly VaultProfile[],
  symbols: readonly string[],
): ReadonlyMap<string, string> {
  const bases = new Map<string, string>();
  for (const { name } of vaults) {
    const [, prefix, written] = /^(p?SV)-([^/]+)\//.exec(name) ?? [];
    if (written === undefined) continue;
    const base = prefix === 'SV' && written === 'ETH' ? 'testWETH' : written;
    const symbol = symbolOf(base, symbols);
    if (symbol !== undefined) bases.set(base, symbol);
  }
  return bases;
}

/** The symbol of a token that a vault's name writes in any letter case. */
function symbolOf(written: string, symbols: readonly string[]): string | undefined {
  return symbols.find((symbol) => isSame(symbol, written));
}

/** The registry writes a token in another letter case than its table of tokens does: wstETH and WSTETH. */
function isSame(name: string, other: string): boolean {
  return name.toLowerCase() === other.toLowerCase();
}
