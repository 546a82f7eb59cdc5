import type { Hex } from '../../src/engine/quote.js';
import { RpcProxy, type RpcRequest, type Trick } from '../chain/rpc-proxy.js';
import type { SeededRandom } from '../simulation/seeded-random.js';

/** Shortest time from a block to its logs, in milliseconds. */
const SHORTEST_LAG_MS = 200;
const LONGEST_LAG_MS = 5_000;
const BLOOM_DIGITS = 512;

/** What the node shows as the bloom filters of its blocks. */
const BLOOMS = ['TRUE', 'TRUE', 'TRUE', 'ABSENT', 'FULL', 'EMPTY'] as const;

interface RawLog {
  readonly blockHash: Hex;
}

/**
 * A proxy before a node: blocks are there up to 5 s before their logs, answers to `eth_getLogs` lack some logs or their
 * end, and bloom filters may be absent or wrong. The seed decides how late, how often and which; what is dropped also
 * depends on the order of the requests.
 */
export class LaggingNode {
  readonly #lagMs: number;
  readonly #dropped: number;
  readonly #truncated: number;
  readonly #blooms: (typeof BLOOMS)[number];
  readonly #indexedAtMs = new Map<Hex, number>();
  #isHealed = false;
  /** Logs that were kept back so far. */
  lacking = 0;

  private constructor(
    private readonly proxy: RpcProxy,
    private readonly random: SeededRandom,
  ) {
    this.#lagMs = random.between(SHORTEST_LAG_MS, LONGEST_LAG_MS);
    this.#dropped = random.pick([0, 0.05, 0.3]);
    this.#truncated = random.pick([0, 0.05, 0.3]);
    this.#blooms = random.pick(BLOOMS);
    proxy.trick = (request) => this.#trick(request);
  }

  static async open(target: string, random: SeededRandom): Promise<LaggingNode> {
    return new LaggingNode(await RpcProxy.open(target), random);
  }

  get url(): string {
    return this.proxy.url;
  }

  /** How it fails, for the message of a test. */
  get story(): string {
    return `lag up to ${this.#lagMs} ms, ${this.#dropped} dropped, ${this.#truncated} cut, blooms ${this.#blooms}`;
  }

  /** From now on every answer has all logs; the filters stay as they are. */
  heal(): void {
    this.#isHealed = true;
  }

  close(): void {
    this.proxy.close();
  }

  #trick({ method }: RpcRequest): Trick {
    if (method === 'eth_getLogs') return { rewrite: (logs) => (Array.isArray(logs) ? this.#given(logs) : logs) };
    if (method === 'eth_getBlockByNumber') return { rewrite: (block) => this.#withBloom(block) };
    return 'PASS';
  }

  #given(logs: readonly RawLog[]): readonly RawLog[] {
    if (this.#isHealed) return logs;
    const { random } = this;
    const kept = logs.filter(({ blockHash }) => this.#hasIndexed(blockHash) && !random.chance(this.#dropped));
    const given = random.chance(this.#truncated) ? kept.slice(0, random.below(kept.length + 1)) : kept;
    this.lacking += logs.length - given.length;
    return given;
  }

  #hasIndexed(blockHash: Hex): boolean {
    const nowMs = performance.now();
    const atMs = this.#indexedAtMs.get(blockHash) ?? nowMs + this.random.between(SHORTEST_LAG_MS, this.#lagMs);
    this.#indexedAtMs.set(blockHash, atMs);
    return atMs <= nowMs;
  }

  #withBloom(block: unknown): unknown {
    if (this.#blooms === 'TRUE' || typeof block !== 'object' || block === null) return block;
    if (this.#blooms === 'ABSENT') return { ...block, logsBloom: undefined };
    return { ...block, logsBloom: `0x${(this.#blooms === 'FULL' ? 'f' : '0').repeat(BLOOM_DIGITS)}` };
  }
}
