import { rename, writeFile } from 'node:fs/promises';
import type { LocalSetup } from './local-setup.js';
import type { PoolKey } from './wire/orderbook.js';

/** What a ready file holds: where the service is and, on the local chain, all that a script needs to trade there. */
export interface ReadyFile {
  readonly httpUrl: string;
  readonly wsUrl: string;
}

export interface LocalReadyFile extends ReadyFile {
  readonly apiKey: string;
  readonly rpcUrl: string;
  readonly chainId: number;
  readonly accounts: readonly { readonly address: string; readonly privateKey: string }[];
  readonly tokens: Readonly<Record<string, string>>;
  readonly contracts: Readonly<Record<'orderbookStream' | 'poolFactory' | 'erc20Router' | 'oracleAdapter', string>>;
  readonly pools: readonly { readonly poolAddress: string; readonly poolKey: PoolKey }[];
}

/** Written in one piece, so that whoever waits for the file never reads half of it. */
export async function writeReadyFile(
  file: string,
  host: string,
  port: number,
  set: { readonly local: Omit<LocalSetup, 'stop'>; readonly apiKey: string },
): Promise<LocalReadyFile>;
export async function writeReadyFile(file: string, host: string, port: number, set: null): Promise<ReadyFile>;
export async function writeReadyFile(
  file: string,
  host: string,
  port: number,
  set: { readonly local: Omit<LocalSetup, 'stop'>; readonly apiKey: string } | null,
): Promise<ReadyFile | LocalReadyFile> {
  const authority = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  const urls = { httpUrl: `http://${authority}`, wsUrl: `ws://${authority}` };
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
  const { orderbookStream, poolFactory, erc20Router, oracleAdapter } = chain.contracts;
  return {
    apiKey,
    rpcUrl: chain.rpcUrl,
    chainId: chain.chainId,
    accounts: chain.accounts,
    tokens: chain.tokens,
    contracts: { orderbookStream, poolFactory, erc20Router, oracleAdapter },
    pools: chain.pools.map(({ poolAddress, poolKey }) => ({
      poolAddress,
      poolKey: { ...poolKey, strike: poolKey.strike.toString() },
    })),
  };
}
