import type { Hex } from '../engine/quote.js';
import type { Settings } from './setting-table.js';
import { whyUnreadable, type ReadText } from './text-files.js';

/** The operator's private key, from the setting or the file that it names; null when neither is set. */
export async function readWalletKey(
  { walletKey, walletKeyFile }: Pick<Settings, 'walletKey' | 'walletKeyFile'>,
  readText: ReadText,
): Promise<Hex | null> {
  if (walletKeyFile === null) return walletKey === null ? null : prefixed(walletKey);
  let text: string;
  try {
    text = (await readText(walletKeyFile)).trim();
  } catch (error) {
    throw new Error(`walletKeyFile ${walletKeyFile} cannot be read: ${whyUnreadable(error)}`, { cause: error });
  }
  // The text itself must not reach a log, so the message does not show it.
  if (!/^(0x)?[0-9a-fA-F]{64}$/.test(text))
    throw new Error(`walletKeyFile ${walletKeyFile} does not hold 32 bytes in hex`);
  return prefixed(text);
}

function prefixed(digits: string): Hex {
  return digits.startsWith('0x') ? (digits as Hex) : `0x${digits}`;
}
