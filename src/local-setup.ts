import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { KeyStore } from './auth/key-store.js';
import type { LocalChain } from './chain/dev/local-chain.js';
import type { Hex } from './engine/quote.js';
import { PersistenceError } from './persistence/disk/disk.js';
import { lockFile } from './persistence/disk/file-lock.js';

/** The embedded chain, and whose wallet the service uses on it. */
export interface LocalSetup {
  readonly chain: LocalChain;
  readonly operatorKey: Hex;
  /** Ends the chain, whose state is saved when it resolves. */
  stop(): Promise<void>;
}

/**
 * The chain's own state lies in `dataDir` too, so that the next start goes on where this one ends. Rejects with
 * PersistenceError LOCKED where another process runs it: a second chain would write an older state over that one's.
 */
export async function openLocalSetup(dataDir: string): Promise<LocalSetup> {
  const lock = await lockFile(path.join(dataDir, 'local-chain.lock'));
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using the local chain in ${dataDir}`);
  try {
    // Its contracts and accounts are a tenth of what a start takes: on other chains nobody waits for them.
    const { startLocalChain } = await import('./chain/dev/local-chain.js');
    const chain = await startLocalChain({ stateFile: path.join(dataDir, 'local-chain.json') });
    const [operator] = chain.accounts;
    if (operator === undefined) throw new Error('The local chain has no accounts');
    const stop = async (): Promise<void> => {
      await chain.stop();
      await lock.release();
    };
    return { chain, operatorKey: operator.privateKey, stop };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/**
 * A key of the paid tier that works, the same at every start: on a chain of one's own machine its text may lie in a
 * file beside the hashes.
 */
export async function localApiKey(keys: KeyStore, dataDir: string): Promise<string> {
  const file = path.join(dataDir, 'local.key');
  const kept = await readFile(file, 'utf8').catch(() => '');
  if (typeof keys.verify(kept.trim()) !== 'string') return kept.trim();
  const { key } = await keys.create('paid', 'local set-up');
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  return key;
}
