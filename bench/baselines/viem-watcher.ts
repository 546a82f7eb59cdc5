import { type Address, createPublicClient, custom } from 'viem';
import { postJson } from '../../src/chain/rpc/http-transport.js';
import { systemClock } from '../../src/system/clock.js';

const LIMITS = { timeoutMs: 10_000, maxAnswerBytes: 1 << 20, maxAnswerParts: 50_000 };

/** A program that follows contracts by viem alone. It watches the events of each, and the heads of the chain. */
export class ViemWatcher {
  calls = 0;
  readonly #stops: (() => void)[];

  constructor(rpcUrl: string, addresses: readonly Address[], pollingInterval: number) {
    const transport = custom({ request: (call: { method: string; params?: unknown }) => this.#request(rpcUrl, call) });
    const client = createPublicClient({ transport, pollingInterval });
    const [onLogs, onBlock] = [() => undefined, () => undefined];
    this.#stops = [
      client.watchBlocks({ onBlock, emitMissed: true }),
      ...addresses.map((address) => client.watchEvent({ address, onLogs })),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  async #request(rpcUrl: string, call: { method: string; params?: unknown }): Promise<unknown> {
    this.calls += 1;
    const { text } = await postJson(
      rpcUrl,
      JSON.stringify({ jsonrpc: '2.0', id: 1, params: [], ...call }),
      LIMITS,
      systemClock,
    );
    const { result, error } = JSON.parse(text) as { result?: unknown; error?: { message: string } };
    if (error !== undefined) throw new Error(error.message);
    return result;
  }
}
