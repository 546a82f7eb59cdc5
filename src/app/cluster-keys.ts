import type { KeyFiles } from '../auth/key-file.js';
import { KeyStore } from '../auth/key-store.js';
import type { Limits } from '../config/limits.js';
import { systemClock, systemRandom } from '../system/clock.js';

/** The keys of a cluster, as its engines and gateways read them. */
export function openClusterKeyStore(files: KeyFiles, limits: Limits): Promise<KeyStore> {
  const { keyCache: cacheSize, selfKeyUnusedDays } = limits;
  return KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize, selfKeyUnusedDays });
}
