import type { Hex } from '../engine/quote.js';
import type { Settings } from './setting-table.js';
import { type ReadText, whyUnreadable } from './settings.js';

/** How many points secp256k1 has: private keys are the numbers from 1 on below it (SEC 2, 2.4.1). */
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** The operator's private key, from the setting or the file that it names; null when neither is set. */
export async function readWalletKey(
  { walletKey, walletKeyFile }: Pick<Settings, 'walletKey' | 'walletKeyFile'>,
  readText: ReadText,
): Promise<Hex | null> {
  if (walletKeyFile === null) return walletKey === null ? null : privateKey(walletKey, 'walletKey is');
  let text: string;
  try {
    text = (await readText(walletKeyFile)).trim();
  } catch (error) {
    throw new Error(`walletKeyFile ${walletKeyFile} cannot be read: ${whyUnreadable(error)}`, { cause: error });
  }
  // The text itself must not reach a log, so the message does not show it.
  if (!/^(0x)?[0-9a-fA-F]{64}$/.test(text))
    throw new Error(`walletKeyFile ${walletKeyFile} does not hold 32 bytes in hex`);
  return privateKey(text, `walletKeyFile ${walletKeyFile} holds`);
}

/** Of 32 bytes in hex. Here and not where something is signed first, so that `config check` says it, by name. */
function privateKey(digits: string, found: string): Hex {
  const key: Hex = digits.startsWith('0x') ? (digits as Hex) : `0x${digits}`;
  const number = BigInt(key);
  if (number > 0n && number < ORDER) return key;
  throw new Error(`${found} no private key: it has to be above zero and below the order of the curve secp256k1`);
}

/** Caps of the wallet's spending, and the referrer that its trades name, in lower case. */
export function walletTerms({
  walletSpendPerDayGwei,
  operatorTokensPerDay,
  operatorReferrer,
}: Pick<Settings, 'walletSpendPerDayGwei' | 'operatorTokensPerDay' | 'operatorReferrer'>): {
  readonly spendPerDayWei?: bigint;
  readonly tokensPerDay: readonly string[];
  readonly referrer?: Hex;
} {
  return {
    ...(walletSpendPerDayGwei !== null && { spendPerDayWei: BigInt(walletSpendPerDayGwei) * WEI_PER_GWEI }),
    tokensPerDay: operatorTokensPerDay,
    ...(operatorReferrer !== null && { referrer: operatorReferrer.toLowerCase() as Hex }),
  };
}

const WEI_PER_GWEI = 10n ** 9n;
