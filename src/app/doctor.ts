import path from 'node:path';
import { type ChainProfile, type Profile } from '../chain/contracts/deployments.js';
import { profileProblems } from '../chain/contracts/profile-check.js';
import { HttpRpc, type Rpc } from '../chain/rpc/rpc-client.js';
import { isRateLimit, RpcError } from '../chain/rpc/rpc-errors.js';
import { readHead } from '../chain/contracts/blocks-and-logs.js';
import { readQuantity, readWideQuantity } from '../chain/rpc/rpc-response.js';
import type { Limits } from '../config/limits.js';
import type { Settings } from '../config/setting-table.js';
import type { ChainRole } from '../engine/command.js';
import type { Clock, Random } from '../engine/ports.js';
import { type Disk, isMissing, removeIfExists } from '../persistence/disk/disk.js';
import { nodeDiskAt } from '../persistence/disk/node-disk.js';
import type { Hex } from '../engine/quote.js';
import { modeBeyondOwner } from '../system/make-directory.js';
import { multicallLimits, rpcOptions } from './chain-wiring.js';
import { hostOf } from './trouble-log.js';

export interface Finding {
  /** `endpoint`, `contracts`, `clock`, `wallet`, `disk`, `files` or `node`. */
  readonly check: string;
  /** FAIL: the service does not start or does not work with it. WARN: it works worse than it could. */
  readonly level: 'OK' | 'WARN' | 'FAIL';
  readonly message: string;
  /** The next step for the operator; null for OK. */
  readonly remedy: string | null;
}

export interface DoctorOptions {
  readonly settings: Settings;
  readonly limits: Limits;
  /** Null: the local set-up, whose chain runs with the service alone. */
  readonly profile: Profile | null;
  /** Null: no wallet. */
  readonly walletAddress: Hex | null;
  readonly clock: Clock;
  readonly random: Random;
  /** File descriptors that a process of this user may open. */
  readonly descriptors: number;
  /** Such as `v24.3.0`. */
  readonly nodeVersion: string;
  /** Called before each part, with its name. */
  readonly onStep: (name: string) => void;
}

/** A read that is late makes quotes late; one that takes this long makes catching up slow. */
const SLOW_ENDPOINT_MS = 500;
/** The newest block's time against this machine's: more is a wrong clock, or an endpoint that is behind. */
const CLOCK_TOLERANCE_SECONDS = 30;
/** Each acknowledged write waits for one sync. */
const SYNCS = 50;
const SLOW_SYNC_MS = 10;
const PROBE_BYTES = 512;
const PROBE_NAME = `doctor-${process.pid}.tmp`;
/** Also of a run that was killed; earlier versions had no process id in the name. */
const ANY_PROBE = /^doctor(-\d+)?\.tmp$/;
const DIRECTORY_REMEDY = "Run this as the service's user, and give that user the directory.";
const FREE_BYTES = 2 * 2 ** 30;
const OWN_DESCRIPTORS = 256;
const RECOMMENDED_NODE = 24;

const BALANCE = 'eth_getBalance';

/** Reads of the chain that the service does, beside `eth_call` and `eth_getLogs`; the parameters ask for little. */
const METHODS: readonly (readonly [method: string, params: readonly unknown[]])[] = [
  ['eth_blockNumber', []],
  ['eth_gasPrice', []],
  [BALANCE, [`0x${'0'.repeat(40)}`, 'latest']],
  ['eth_getTransactionCount', [`0x${'0'.repeat(40)}`, 'pending']],
  ['eth_getTransactionByHash', [`0x${'0'.repeat(64)}`]],
  ['eth_getTransactionReceipt', [`0x${'0'.repeat(64)}`]],
];

/** Compares the settings with the chains and the machine. Changes nothing but a file that it removes again. */
export async function examine(options: DoctorOptions): Promise<Finding[]> {
  const { profile, settings, onStep } = options;
  const findings: Finding[] = [];
  if (profile === null) {
    findings.push(ok('endpoint', 'The profile local has a chain of its own, which runs with the service.'));
  } else {
    for (const role of profile.stream.chainId === profile.settlement.chainId
      ? ['settlement']
      : ['settlement', 'stream']) {
      const chain = profile[role as ChainRole];
      for (const url of chain.rpcUrls) {
        onStep(`${role} ${hostOf(url)}`);
        findings.push(...(await examineEndpoint(role, url, chain, profile, options)));
      }
      if (chain.rpcUrls.length === 1) {
        const remedy = 'Add an endpoint of another provider: the service changes over when one fails.';
        findings.push(warn('endpoint', `${role} has one endpoint.`, remedy));
      }
    }
    onStep('contracts');
    findings.push(...(await examineContracts(profile, options)));
  }
  onStep('disk');
  try {
    findings.push(...(await examineDisk(settings, options)));
  } catch (error) {
    const message = `The data directory ${settings.dataDir} cannot be looked at: ${messageOf(error)}`;
    findings.push(fail('disk', message, DIRECTORY_REMEDY));
  }
  findings.push(examineDescriptors(options), examineNode(options.nodeVersion));
  return findings;
}

function rpcAt(urls: readonly string[], { chainId }: ChainProfile, { limits, clock, random }: DoctorOptions): HttpRpc {
  return new HttpRpc(urls, chainId, rpcOptions(limits, 1), clock, random, () => undefined);
}

async function examineEndpoint(
  role: string,
  url: string,
  chain: ChainProfile,
  profile: Profile,
  options: DoctorOptions,
): Promise<Finding[]> {
  const { limits, walletAddress } = options;
  const rpc = rpcAt([url], chain, options);
  const name = `${role} ${hostOf(url)}`;
  let newest: number;
  try {
    // The first request also asks for the chain's id.
    newest = readQuantity(await rpc.request({ method: 'eth_blockNumber' }));
  } catch (error) {
    const remedy = `Correct ${role}RpcUrls, or the chain id ${chain.chainId} in the profile.`;
    return [fail('endpoint', `${name}: ${messageOf(error)}`, remedy)];
  }
  const findings = await examineHead(name, rpc, chain, options);
  const refused = new Set<string>();
  for (const [method, params] of METHODS) {
    try {
      await rpc.request({ method, params });
    } catch (error) {
      refused.add(method);
      findings.push(refusal(name, method, error));
    }
  }
  findings.push(await examineLogs(name, rpc, newest, profile, limits));
  if (walletAddress !== null && !refused.has(BALANCE)) {
    findings.push(await examineWallet(name, rpc, chain, walletAddress));
  }
  return findings;
}

/** The newest block: how soon the endpoint gives it, and its time. */
async function examineHead(name: string, rpc: Rpc, chain: ChainProfile, { clock }: DoctorOptions): Promise<Finding[]> {
  const method = 'eth_getBlockByNumber';
  try {
    const askedMs = clock.monotonicMs();
    const head = readHead(await rpc.request({ method, params: ['latest', false] }));
    const tookMs = clock.monotonicMs() - askedMs;
    const reached = `${name} answers for chain ${chain.chainId} in ${Math.round(tookMs)} ms, block ${head.number}.`;
    const remedy = 'Take an endpoint that is nearer: publishing needs several answers in a row.';
    return [
      tookMs <= SLOW_ENDPOINT_MS ? ok('endpoint', reached) : warn('endpoint', reached, remedy),
      examineClock(name, head.timestamp, chain, clock.wallMs()),
    ];
  } catch (error) {
    return [refusal(name, method, error)];
  }
}

async function examineWallet(name: string, rpc: Rpc, { chainId }: ChainProfile, address: Hex): Promise<Finding> {
  try {
    const wei = readWideQuantity(await rpc.request({ method: BALANCE, params: [address, 'latest'] }));
    if (wei > 0n) return ok('wallet', `The wallet ${address} has ${wei} wei on chain ${chainId}.`);
  } catch (error) {
    return refusal(name, BALANCE, error);
  }
  const message = `The wallet ${address} has no money for gas on chain ${chainId}.`;
  return fail('wallet', message, "Send it some of the chain's coin, or start without a wallet.");
}

function examineClock(
  name: string,
  blockSeconds: number,
  { maxHeadAgeSeconds }: ChainProfile,
  wallMs: number,
): Finding {
  const ageSeconds = Math.round(wallMs / 1000 - blockSeconds);
  if (ageSeconds < -CLOCK_TOLERANCE_SECONDS) {
    const message = `This machine's clock is ${-ageSeconds} s behind the newest block of ${name}.`;
    return fail('clock', message, 'Synchronise the clock: run chrony or systemd-timesyncd.');
  }
  if (maxHeadAgeSeconds !== null && ageSeconds > maxHeadAgeSeconds) {
    const message = `The newest block of ${name} is ${ageSeconds} s old.`;
    return warn('clock', message, 'Compare the clock with `timedatectl`, and the block with a block explorer.');
  }
  return ok('clock', `The newest block of ${name} is ${ageSeconds} s old.`);
}

/** Asks for the logs of as long a range as a first start does, and of shorter ones until an answer comes. */
async function examineLogs(
  name: string,
  rpc: Rpc,
  head: number,
  { contracts }: Profile,
  { logRangeBlocks }: Limits,
): Promise<Finding> {
  const method = 'eth_getLogs';
  let lastError: unknown;
  for (let blocks = Math.min(logRangeBlocks, head + 1); blocks >= 1; blocks = Math.floor(blocks / 4)) {
    try {
      await rpc.request({
        method,
        params: [
          {
            address: contracts.orderbookStream.address,
            fromBlock: hex(head - blocks + 1),
            toBlock: hex(head),
          },
        ],
      });
      const message = `${name} gives the logs of ${blocks} blocks at once.`;
      if (blocks >= Math.min(logRangeBlocks, head + 1)) return ok('endpoint', message);
      const remedy = `A first start reads ${logRangeBlocks} blocks at once and halves the range when refused, so it takes longer.`;
      return warn('endpoint', message, `${remedy} Choose a plan with longer ranges.`);
    } catch (error) {
      lastError = error;
      if (error instanceof RpcError && isRateLimit(error)) break;
    }
  }
  return refusal(name, method, lastError);
}

async function examineContracts(profile: Profile, options: DoctorOptions): Promise<Finding[]> {
  const { limits } = options;
  const rpc = {
    settlement: rpcAt(profile.settlement.rpcUrls, profile.settlement, options),
    stream: rpcAt(profile.stream.rpcUrls, profile.stream, options),
  };
  try {
    const problems = await profileProblems(profile, rpc, multicallLimits(limits));
    const { tokens, vaults } = profile;
    if (problems.length === 0) {
      const message = `The contracts, ${tokens.length} tokens and ${vaults.length} vaults of ${profile.name} answer as they should.`;
      return [ok('contracts', message)];
    }
    return problems.map(({ name, to, problem }) => {
      return fail('contracts', `${name} ${to} ${problem}.`, `Correct the profile ${profile.name}, or the endpoint.`);
    });
  } catch (error) {
    const message = `The contracts could not be asked: ${messageOf(error)}`;
    return [fail('contracts', message, 'Put the endpoints right first.')];
  }
}

async function examineDisk(settings: Settings, { clock }: DoctorOptions): Promise<Finding[]> {
  const { disk, isThere } = await nearestDirectory(path.resolve(settings.dataDir));
  const findings: Finding[] = [];
  const where = isThere ? `The data directory ${disk.label}` : `${disk.label}, where a start makes the data directory,`;
  const mode = isThere ? await modeBeyondOwner(disk.label) : null;
  if (mode !== null) {
    const message = `${where} is open to other users (${mode}).`;
    findings.push(warn('disk', message, `Run \`chmod 700 ${disk.label}\`: it holds key hashes and private quotes.`));
  }
  const { freeBytes } = await disk.space();
  const free = `${where} has ${(freeBytes / 2 ** 30).toFixed(1)} GiB free.`;
  const wanted = Math.max(FREE_BYTES, 2 * (settings.lowWaterBytes ?? 0));
  if (freeBytes < wanted)
    findings.push(warn('disk', free, 'Free some room: below lowWaterBytes the service refuses writes.'));
  else findings.push(ok('disk', free));
  try {
    const medianMs = await syncMs(disk, clock);
    const message = `${where} syncs a write in ${medianMs.toFixed(2)} ms (median of ${SYNCS}).`;
    const remedy = 'Use a local SSD: every acknowledged write waits for a sync, on a network disk most of all.';
    findings.push(medianMs > SLOW_SYNC_MS ? warn('disk', message, remedy) : ok('disk', message));
  } catch (error) {
    const message = `${where} cannot be written to: ${messageOf(error)}`;
    findings.push(fail('disk', message, DIRECTORY_REMEDY));
  }
  return findings;
}

/** A data directory that is not there yet is made below the first one above it that is. */
async function nearestDirectory(directory: string): Promise<{ readonly disk: Disk; readonly isThere: boolean }> {
  for (let at = directory; ; at = path.dirname(at)) {
    const disk = nodeDiskAt(at);
    try {
      await disk.list();
      return { disk, isThere: at === directory };
    } catch (error) {
      if (!isMissing(error) || at === path.dirname(at)) throw error;
    }
  }
}

async function syncMs(disk: Disk, clock: Pick<Clock, 'monotonicMs'>): Promise<number> {
  const bytes = Buffer.alloc(PROBE_BYTES, 1);
  for (const name of await disk.list()) if (ANY_PROBE.test(name)) await removeIfExists(disk, name);
  const made = await disk.open(PROBE_NAME, 'create');
  try {
    await made.write(Buffer.alloc(SYNCS * PROBE_BYTES), 0);
    await made.sync();
    const durable = await disk.open(PROBE_NAME, 'durable');
    try {
      const times: number[] = [];
      for (let n = 0; n < SYNCS; n += 1) {
        const startMs = clock.monotonicMs();
        await durable.write(bytes, n * PROBE_BYTES);
        times.push(clock.monotonicMs() - startMs);
      }
      return times.sort((a, b) => a - b)[SYNCS / 2] ?? 0;
    } finally {
      await durable.close();
    }
  } finally {
    await made.close();
    await removeIfExists(disk, PROBE_NAME);
  }
}

function examineDescriptors({ descriptors, limits }: DoctorOptions): Finding {
  const wanted = limits.wsConnections + limits.httpConnections + OWN_DESCRIPTORS;
  const message = `A process may open ${descriptors} files and connections; the limits of connections want ${wanted}.`;
  if (descriptors >= wanted) return ok('files', message);
  return warn(
    'files',
    message,
    'Raise LimitNOFILE of the unit (`ulimit -n` in a shell), or lower wsConnections and httpConnections.',
  );
}

function examineNode(version: string): Finding {
  const message = `Node is ${version}.`;
  if (Number(/^v(\d+)/.exec(version)?.[1]) >= RECOMMENDED_NODE) return ok('node', message);
  return warn('node', message, `Node ${RECOMMENDED_NODE} is the recommended version.`);
}

function hex(number: number): string {
  return `0x${Math.max(0, number).toString(16)}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** An endpoint without a method that the service needs. */
function refusal(name: string, method: string, error: unknown): Finding {
  const remedy = 'Choose a plan or an endpoint with this method.';
  return fail('endpoint', `${name} refuses ${method}: ${messageOf(error)}`, remedy);
}

function ok(check: string, message: string): Finding {
  return { check, level: 'OK', message, remedy: null };
}

function warn(check: string, message: string, remedy: string): Finding {
  return { check, level: 'WARN', message, remedy };
}

function fail(check: string, message: string, remedy: string): Finding {
  return { check, level: 'FAIL', message, remedy };
}
