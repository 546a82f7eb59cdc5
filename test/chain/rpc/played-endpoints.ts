import type { Test } from 'tap';
import { HttpRpc } from '../../../src/chain/rpc/rpc-client.js';
import { systemClock } from '../../../src/system/clock.js';
import type { ManualClock } from '../../system/manual-clock.js';
import { RpcProxy, type RpcRequest, type Trick } from '../rpc-proxy.js';

const BYTES = {
  maxAnswerBytes: 10_000,
  maxAnswerParts: 100,
  maxLogsAnswerBytes: 10_000,
  maxLogsAnswerParts: 1_000,
  maxCallAnswerBytes: 10_000,
};
export const PATIENCE = { timeoutMs: 10_000, attempts: 3, backoffMs: 1, returnAfterMs: 15_000, ...BYTES };
export const CHAIN_ID = 7;
export const NEVER_JITTERED = { bytes: (length: number) => new Uint8Array(length), unit: () => 0 };

interface Endpoints {
  readonly rpc: HttpRpc;
  readonly proxies: readonly RpcProxy[];
  readonly failures: string[];
}

/** Endpoints that answer with their own number, each played by a proxy that never needs its node. */
export async function endpoints(t: Test, count: number, patience: Partial<typeof PATIENCE> = {}, clock = systemClock) {
  const proxies = await Promise.all(Array.from({ length: count }, () => RpcProxy.open('http://127.0.0.1:9')));
  t.teardown(() => proxies.forEach((proxy) => proxy.close()));
  proxies.forEach((proxy, n) => play(proxy, ({ id }) => good(id, n)));
  const failures: string[] = [];
  const urls = proxies.map(({ url }) => url);
  const rpc = new HttpRpc(urls, CHAIN_ID, { ...PATIENCE, ...patience }, clock, NEVER_JITTERED, (error) => {
    failures.push(error.message);
  });
  return { rpc, proxies, failures } satisfies Endpoints;
}

export function good(id: number, result: unknown): Trick {
  return { status: 200, body: JSON.stringify({ jsonrpc: '2.0', id, result }) };
}

/** What it does with all requests but for the chain id, which every endpoint is asked for once. */
export function play(proxy: RpcProxy | undefined, trick: (request: RpcRequest) => Trick): void {
  if (proxy === undefined) throw new Error('There are fewer');
  proxy.trick = (request) => (request.method === 'eth_chainId' ? good(request.id, CHAIN_ID) : trick(request));
}

/** How often it was asked for anything else. */
export function requestsTo(proxy: RpcProxy | undefined): number | undefined {
  return proxy?.requests.filter(({ method }) => method !== 'eth_chainId').length;
}

export const ask = (rpc: HttpRpc, method = 'eth_gasPrice'): Promise<unknown> => rpc.request({ method });

/** Moves the clock by small steps, with I/O in between, until `done` and for so many steps at least. */
export async function finishes(done: Promise<unknown>, clock: ManualClock, atLeastSteps: number): Promise<void> {
  const waiting = new Set([done]);
  void done.finally(() => waiting.clear());
  for (let step = 0; step < atLeastSteps || waiting.size > 0; step++) {
    clock.advance(1);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
