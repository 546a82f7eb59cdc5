import { hostname } from 'node:os';
import type { KeyFiles } from '../auth/key-file.js';
import { KeyStore } from '../auth/key-store.js';
import type { ClusterOptions } from '../cluster/connection.js';
import type { Limits } from '../config/limits.js';
import type { Settings } from '../config/setting-table.js';
import { systemClock, systemRandom } from '../system/clock.js';

/** Text of a file that a setting names. */
type ReadText = (file: string) => Promise<string>;

/** How this process connects to its cluster. */
export async function clusterOptions(
  settings: Settings,
  profileName: string,
  limits: Limits,
  readText: ReadText,
): Promise<ClusterOptions> {
  const { cluster, clusterMonitors, clusterMember, clusterUser, clusterPassword, clusterNkeyFile, clusterCaFile } =
    settings;
  if (cluster === null)
    throw new Error(`the role ${settings.role} needs a cluster: set cluster to the URLs of its NATS servers`);
  return {
    servers: cluster,
    // Engines have to ask; others do where they are given the ports.
    monitors: settings.role !== 'engine' && clusterMonitors.length === 0 ? null : clusterMonitors,
    deployment: profileName,
    member:
      clusterMember ?? `${settings.role}-${hostname()}-${process.pid}`.replace(/[^A-Za-z0-9_.-]/g, '-').slice(0, 64),
    unsafe: settings.clusterUnsafe === 'yes',
    callMs: limits.clusterServerMs,
    ...(clusterUser !== null && { user: clusterUser }),
    ...(clusterPassword !== null && { password: clusterPassword }),
    ...(clusterNkeyFile !== null && { nkeySeed: (await readText(clusterNkeyFile)).trim() }),
    ...(clusterCaFile !== null && { tls: { ca: await readText(clusterCaFile) } }),
  };
}

/** The keys of a cluster, as its engines and gateways read them. */
export function openClusterKeyStore(files: KeyFiles, limits: Limits): Promise<KeyStore> {
  const { keyCache: cacheSize, selfKeyUnusedDays } = limits;
  return KeyStore.open({ files, clock: systemClock, random: systemRandom, cacheSize, selfKeyUnusedDays });
}
