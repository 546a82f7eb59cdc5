import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { KeyStore } from '../auth/key-store.js';
import type { LiveMarket } from '../chain/dev/live-market.js';
import type { LocalChain } from '../chain/dev/local-chain.js';
import type { Clock } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';
import { PersistenceError } from '../persistence/disk/disk.js';
import { lockFile } from '../persistence/disk/file-lock.js';
import type { PoolKeyJson } from '../wire/orderbook.js';

/** The embedded chain, and whose wallet the service uses on it. */
export interface LocalSetup {
  readonly chain: LocalChain;
  readonly operatorKey: Hex;
  /** Ends the chain, whose state is saved when it resolves. */
  stop(): Promise<void>;
}

/** How the embedded chain behaves; absent: a block for each transaction, and prices that stand still. */
export interface LocalBehaviour {
  readonly blockTimeSeconds?: number;
  readonly liveMarket?: {
    readonly seed: number;
    readonly everyMs: number;
    readonly clock: Clock;
    readonly onError: (error: unknown) => void;
  };
}

/**
 * The chain's own state lies in `dataDir` too, so that the next start goes on where this one ends. Rejects with
 * PersistenceError LOCKED where another process runs it: a second chain would write an older state over that one's.
 */
export async function openLocalSetup(dataDir: string, behaviour: LocalBehaviour = {}): Promise<LocalSetup> {
  const lock = await lockFile(path.join(dataDir, 'local-chain.lock'));
  if (lock === null) throw new PersistenceError('LOCKED', `another process is using the local chain in ${dataDir}`);
  try {
    // Its contracts and accounts are a tenth of what a start takes: on other chains nobody waits for them.
    const { startLocalChain } = await import('../chain/dev/local-chain.js');
    const { blockTimeSeconds, liveMarket } = behaviour;
    const chain = await startLocalChain({
      stateFile: path.join(dataDir, 'local-chain.json'),
      ...(blockTimeSeconds !== undefined && { blockTimeSeconds }),
    });
    const market = liveMarket === undefined ? null : await startMarket(chain, liveMarket);
    const [operator] = chain.accounts;
    if (operator === undefined) throw new Error('The local chain has no accounts');
    const stop = async (): Promise<void> => {
      await market?.stop();
      await chain.stop();
      await lock.release();
    };
    return { chain, operatorKey: operator.privateKey, stop };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** The chain does not outlive a market that cannot start. */
async function startMarket(chain: LocalChain, options: Parameters<typeof LiveMarket.start>[1]): Promise<LiveMarket> {
  try {
    const { LiveMarket } = await import('../chain/dev/live-market.js');
    return await LiveMarket.start(chain, options);
  } catch (error) {
    await chain.stop();
    throw error;
  }
}

/**
 * A key of the paid tier with the scope operator, the same at every start: on a chain of one's own machine its text may
 * lie in a file beside the hashes. One of an earlier version has no scope, and is replaced.
 */
export async function localApiKey(keys: KeyStore, dataDir: string): Promise<string> {
  const file = path.join(dataDir, 'local.key');
  const kept = await readFile(file, 'utf8').catch(() => '');
  const holder = keys.verify(kept.trim());
  if (typeof holder !== 'string' && holder.scopes?.includes('operator')) return kept.trim();
  const { key } = await keys.create('paid', 'local set-up', ['operator']);
  await writeFile(file, `${key}\n`, { mode: 0o600 });
  return key;
}

/** A ready file: where the service is and, on the local chain, all that a script needs to trade there. */
export interface ReadyFile {
  readonly httpUrl: string;
  readonly wsUrl: string;
  /** Of the second listener, if there is one. Its WebSocket has the same address and `ws:`. */
  readonly containerUrl?: string;
}

/** Where a service listens. */
export interface ListeningAt {
  readonly host: string;
  readonly port: number;
  readonly containerPort: number | null;
}

export interface LocalReadyFile extends ReadyFile {
  readonly apiKey: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly accounts: readonly { readonly address: string; readonly privateKey: string }[];
  readonly tokens: Readonly<Record<string, string>>;
  readonly contracts: Readonly<Record<LocalContract, string>>;
  /** Addresses by the vaults' names. */
  readonly vaults: Readonly<Record<string, string>>;
  readonly pools: readonly { readonly poolAddress: string; readonly poolKey: PoolKeyJson }[];
}

type LocalContract =
  'orderbookStream' | 'poolFactory' | 'erc20Router' | 'oracleAdapter' | 'volatilityOracle' | 'multicall3';

/** Written in one piece, so that a program which waits for the file never reads half of it. */
export async function writeReadyFile(
  file: string,
  at: ListeningAt,
  set: { readonly local: Omit<LocalSetup, 'stop'>; readonly apiKey: string },
): Promise<LocalReadyFile>;
export async function writeReadyFile(file: string, at: ListeningAt, set: null): Promise<ReadyFile>;
export async function writeReadyFile(
  file: string,
  { host, port, containerPort }: ListeningAt,
  set: { readonly local: Omit<LocalSetup, 'stop'>; readonly apiKey: string } | null,
): Promise<ReadyFile | LocalReadyFile> {
  const name = host.includes(':') ? `[${host}]` : host;
  const urls = {
    httpUrl: `http://${name}:${port}`,
    wsUrl: `ws://${name}:${port}`,
    ...(containerPort !== null && { containerUrl: `http://${name}:${containerPort}` }),
  };
  const ready = set === null ? urls : { ...urls, ...localPart(set) };
  await writeFile(`${file}.new`, `${JSON.stringify(ready, null, 2)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  return ready;
}

function localPart({
  local: { chain },
  apiKey,
}: {
  readonly local: Omit<LocalSetup, 'stop'>;
  readonly apiKey: string;
}) {
  const { orderbookStream, poolFactory, erc20Router, oracleAdapter, volatilityOracle, multicall3 } = chain.contracts;
  return {
    apiKey,
    rpcUrl: chain.rpcUrl,
    chainId: chain.chainId,
    accounts: chain.accounts,
    tokens: chain.tokens,
    contracts: { orderbookStream, poolFactory, erc20Router, oracleAdapter, volatilityOracle, multicall3 },
    vaults: Object.fromEntries(chain.profile.vaults.map(({ name, address }) => [name, address])),
    pools: chain.pools.map(({ poolAddress, poolKey }) => ({
      poolAddress,
      poolKey: { ...poolKey, strike: poolKey.strike.toString() },
    })),
  };
}

/**
 * Greeting after `npm start`: commands that work from any directory, and, last, where everything is. On one
 * screen. `examples`: directory of the example scripts; null where there are none, as in a container.
 */
export function greeting(ready: LocalReadyFile, readyFile: string, examples: string | null): string {
  const { httpUrl, wsUrl, containerUrl, apiKey, rpcUrl, chainId, pools, tokens } = ready;
  const symbols = new Map(Object.entries(tokens).map(([symbol, address]) => [address, symbol]));
  const [pool] = pools;
  const query = `poolAddress=${pool?.poolAddress ?? ''}&side=ask&size=1000000000000000000&chainId=${chainId}`;
  const file = path.resolve(readyFile);
  const scripts = examples === null ? [] : ['watch', 'post-quote'].map((name) => path.join(examples, `${name}.mjs`));
  const commands = [
    ...scripts.map((script) => `node ${quoted(script)} ${quoted(file)}`),
    `curl -H 'x-apikey: ${apiKey}' '${httpUrl}/quotes?${query}'`,
  ];
  return `
Quotebook is ready on a local chain with ${pools.length} pools, such as ${pool === undefined ? 'none' : describe(pool.poolKey, symbols)}.
Funded accounts, pools and tokens are in ${file}

Try it in another terminal:
${commands.map((command) => `  ${command}`).join('\n')}

  Page       ${httpUrl}/
  HTTP       ${httpUrl}
  WebSocket  ${wsUrl}${containerUrl === undefined ? '' : `\n  Container  ${containerUrl}`}
  JSON-RPC   ${rpcUrl} (chain ${chainId})
  API key    ${apiKey}

Ctrl-C stops all of it.
`;
}

/** For a shell, only where it has to be. */
function quoted(file: string): string {
  return /^[\w./@+-]+$/.test(file) ? file : `'${file.replaceAll("'", "'\\''")}'`;
}

/** Such as "testWETH/USDC call 1800 2026-11-27". */
function describe(
  { base, quote, strike, maturity, isCallPool }: PoolKeyJson,
  symbols: ReadonlyMap<string, string>,
): string {
  const pair = `${symbols.get(base) ?? base}/${symbols.get(quote) ?? quote}`;
  const whole = (BigInt(strike) / 10n ** 18n).toString();
  return `${pair} ${isCallPool ? 'call' : 'put'} ${whole} ${new Date(maturity * 1000).toISOString().slice(0, 10)}`;
}
