import { encodeAdd } from '../../src/chain/contracts/abi-encoding.js';
import { postJson } from '../../src/chain/rpc/http-transport.js';
import type { Hex, SignedQuote } from '../../src/engine/quote.js';
import { systemClock } from '../../src/system/clock.js';
import type { AnvilSetup } from '../servers/on-anvil.js';

const LIMITS = { timeoutMs: 10_000, maxAnswerBytes: 1 << 20, maxAnswerParts: 50_000 };

/**
 * Publishes a quote by one transaction, from sending it to having its receipt: milliseconds. Anvil signs it, and mines
 * it automatically.
 */
export async function anvilTransaction(
  setup: Pick<AnvilSetup, 'rpcUrl' | 'orderbookStream'>,
  from: Hex,
  quote: SignedQuote,
): Promise<number> {
  const transaction = { from, to: setup.orderbookStream, data: encodeAdd([quote]) };
  const start = performance.now();
  const hash = await ask(setup.rpcUrl, 'eth_sendTransaction', [transaction]);
  const receipt = await receiptOf(setup.rpcUrl, hash);
  const tookMs = performance.now() - start;
  if (receipt.status !== '0x1') throw new Error('The transaction failed');
  return tookMs;
}

async function receiptOf(url: string, hash: unknown): Promise<{ status: string }> {
  for (;;) {
    const receipt = await ask(url, 'eth_getTransactionReceipt', [hash]);
    if (receipt !== null) return receipt as { status: string };
  }
}

/** By the same means as the service asks: what these cost is then in neither's favour. */
async function ask(url: string, method: string, params: readonly unknown[]): Promise<unknown> {
  const json = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const { text } = await postJson(url, json, LIMITS, systemClock);
  const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } };
  if (error !== undefined) throw new Error(error.message);
  return result;
}
