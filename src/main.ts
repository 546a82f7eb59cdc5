import { createHash } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { DiskKeyFiles } from './auth/disk-key-files.js';
import { KeyStore } from './auth/key-store.js';
import { arbitrum } from './chain/deployments.js';
import { HttpRpc } from './chain/http-rpc.js';
import type { ChainProfile, Profile } from './chain/profile.js';
import { effectiveLimits } from './config/effective-limits.js';
import type { Limits } from './config/limits.js';
import { readProfileFile } from './config/profile-file.js';
import { withEndpoints } from './config/profile-overrides.js';
import type { Settings } from './config/setting-table.js';
import { readWalletKey } from './config/wallet-key.js';
import { Engine } from './engine/engine.js';
import { MemoryJournal } from './engine/memory-journal.js';
import { localApiKey, openLocalSetup, type LocalSetup } from './local-setup.js';
import { openLogger } from './logger.js';
import { writeReadyFile } from './ready-file.js';
import { startService } from './service.js';
import { systemClock } from './system/system-clock.js';
import { systemRandom } from './system/system-random.js';
import { greeting } from './greeting.js';

const readText = (file: string): Promise<string> => readFile(file, 'utf8');

/** Assembles the service that the settings describe, runs it until a signal ends it, and stops in reverse order. */
export async function runService(settings: Settings): Promise<void> {
  const stopping = untilSignal();
  const limits = effectiveLimits(settings);
  const logger = openLogger(settings.logLevel, settings.logFormat);
  await mkdir(settings.dataDir, { recursive: true });
  const local = settings.profile === 'local' ? await openLocalSetup() : null;
  try {
    await serve(settings, limits, logger, local, stopping);
  } finally {
    await local?.chain.stop();
  }
}

async function serve(
  settings: Settings,
  limits: Limits,
  logger: ReturnType<typeof openLogger>,
  local: LocalSetup | null,
  stopping: Promise<NodeJS.Signals>,
): Promise<void> {
  const profile = withEndpoints(local?.chain.profile ?? (await readProfile(settings.profile)), settings);
  const keys = await KeyStore.open({
    files: new DiskKeyFiles(settings.dataDir, systemClock, limits.keyUpdateMs),
    clock: systemClock,
    random: systemRandom,
    cacheSize: limits.keyCache,
  });
  const walletKey = (await readWalletKey(settings, readText)) ?? local?.operatorKey ?? null;
  const engine = new Engine({
    reorgDepth: limits.reorgDepth,
    sha256: (text) => createHash('sha256').update(text).digest('hex'),
  });
  const rpcOf = (chain: ChainProfile): HttpRpc => openRpc(chain, limits, logger);
  const service = await startService({
    ...settings,
    profile,
    rpc: { settlement: rpcOf(profile.settlement), stream: rpcOf(profile.stream) },
    walletKey,
    engine,
    journal: new MemoryJournal(),
    keys,
    clock: systemClock,
    random: systemRandom,
    limits,
    logger,
    onFault(error) {
      logger.fatal({ err: error }, 'stopped: the engine failed');
      process.exit(1);
    },
  });
  logger.info({ backend: service.backend, port: service.port, profile: profile.name }, 'listening, catching up');
  try {
    await Promise.race([service.ready, stopping]);
    if (local !== null) {
      const apiKey = await localApiKey(keys, settings.dataDir);
      const readyFile = settings.readyFile ?? path.join(settings.dataDir, 'ready.json');
      const ready = await writeReadyFile(readyFile, settings.host, service.port, { local, apiKey });
      process.stdout.write(greeting(ready, readyFile));
    } else if (settings.readyFile !== null) {
      await writeReadyFile(settings.readyFile, settings.host, service.port, null);
    }
    const signal = await stopping;
    logger.info({ signal }, 'stopping');
  } finally {
    await service.stop();
    keys.close();
  }
}

async function readProfile(nameOrFile: string): Promise<Profile> {
  if (nameOrFile === 'arbitrum') return arbitrum;
  const read = await readProfileFile(nameOrFile, readText);
  if (!read.ok) throw new Error(read.problems.join('\n'));
  return read.profile;
}

function openRpc({ rpcUrls }: ChainProfile, limits: Limits, logger: ReturnType<typeof openLogger>): HttpRpc {
  const patience = {
    timeoutMs: limits.rpcTimeoutMs,
    attempts: limits.rpcAttempts,
    backoffMs: limits.rpcBackoffMs,
    maxAnswerBytes: limits.rpcAnswerBytes,
  };
  return new HttpRpc(rpcUrls, patience, systemClock, systemRandom, (error, url) => {
    // Providers put their keys behind the host, so the rest of the URL is not for a log.
    logger.warn({ err: error, host: new URL(url).host }, 'a JSON-RPC request failed');
  });
}

/** The first signal stops the service in order; the second ends the process at once. */
function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      signals++;
      if (signals > 1) process.exit(1);
      resolve(signal);
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}
