import { EndpointPool } from '../../src/chain/rpc/endpoint-pool.js';
import { RpcError, RpcUnreachable } from '../../src/chain/rpc/rpc-errors.js';
import type { Clock } from '../../src/engine/ports.js';
import type { Rpc } from '../../src/chain/rpc/rpc-client.js';
import type { Hex } from '../../src/engine/quote.js';
import type { SeededRandom } from './seeded-random.js';
import { headOf, type LogFaults, logsOf, type SimBlock, type SimChain } from './sim-chain.js';

export interface SimRpcOptions<State> {
  readonly chain: SimChain<State>;
  readonly clock: Clock;
  readonly random: SeededRandom;
  /** Return data of a contract's call after a block. */
  readonly call: (to: Hex, data: Hex, block: SimBlock<State>) => Hex;
  /** How often a request fails, a node is behind by a block or two, and a range of logs is refused. */
  readonly trouble: number;
  readonly faults?: LogFaults | undefined;
}

const ATTEMPTS = 3;
const MOST_DELAY_MS = 6;
const MOST_LAG = 2;
const DOUBT_MS = 50;

/**
 * Two nodes of one chain, as one process reaches them: an answer takes its time, and what it says was so when the node
 * was asked or when it answered. A request that fails is asked of the other node, which may be behind.
 */
export class SimRpc<State> implements Rpc {
  readonly #options: SimRpcOptions<State>;
  readonly #endpoints = new EndpointPool(['first', 'second'], DOUBT_MS);
  /** Blocks that the second node is behind, and when that was so: while it alone answers it only comes nearer. */
  #lag = 0;
  #lagSwitches = 0;

  constructor(options: SimRpcOptions<State>) {
    this.#options = options;
  }

  get switches(): number {
    return this.#endpoints.switches;
  }

  preferAnother(): void {
    const { current } = this.#endpoints;
    if (current !== undefined) this.#endpoints.moveOnFrom(current, this.#options.clock.monotonicMs());
  }

  async request({ method, params }: { readonly method: string; readonly params?: unknown }): Promise<unknown> {
    const { clock, random, trouble } = this.#options;
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const endpoint = this.#endpoints.ready(clock.monotonicMs());
      if (endpoint === undefined) throw new RpcUnreachable('no node');
      await this.#pause();
      if (random.chance(trouble)) {
        this.#endpoints.moveOnFrom(endpoint, clock.monotonicMs());
        continue;
      }
      const preferred = this.#endpoints.toProbe(clock.monotonicMs());
      if (preferred !== undefined && random.chance(0.2)) this.#endpoints.returnTo(preferred, clock.monotonicMs());
      const answer = this.#answer(method, params as readonly unknown[], endpoint.url === 'second');
      if (random.chance(0.5)) await this.#pause();
      if (answer instanceof Error) throw answer;
      return answer;
    }
    throw new RpcUnreachable(`no answer to ${method}`);
  }

  #pause(): Promise<void> {
    const { clock, random } = this.#options;
    return new Promise((resolve) => clock.after(random.below(MOST_DELAY_MS), resolve));
  }

  #answer(method: string, params: readonly unknown[], isSecond: boolean): unknown {
    const { chain, random, trouble } = this.#options;
    if (this.#lagSwitches !== this.switches) this.#lag = random.below(MOST_LAG + 1);
    else if (random.chance(trouble)) this.#lag = random.below(this.#lag + 1);
    this.#lagSwitches = this.switches;
    // The first node is never behind: a lower head is a reorg's, or the other node's.
    const highest = Math.max(0, chain.head.number - (isSecond && trouble > 0 ? this.#lag : 0));
    const shown = (block: SimBlock<State> | undefined): SimBlock<State> | undefined =>
      block !== undefined && block.number <= highest ? block : undefined;
    switch (method) {
      case 'eth_getBlockByNumber': {
        const [number] = params;
        const block = number === 'latest' ? chain.block(highest) : shown(chain.block(Number(number)));
        return block === undefined ? null : { ...headOf(block), ...this.#options.faults?.bloom(block) };
      }
      case 'eth_getLogs':
        return this.#logs(params[0] as Filter, highest);
      case 'eth_call': {
        const [{ to, data }, at] = params as [{ to: Hex; data: Hex }, unknown];
        const block =
          at === 'latest'
            ? chain.block(highest)
            : shown(typeof at === 'string' ? chain.block(Number(at)) : chain.blockOf((at as BlockOf).blockHash));
        return block === undefined ? unknownBlock() : this.#options.call(to.toLowerCase() as Hex, data, block);
      }
    }
    throw new Error(`nobody here asks for ${method}`);
  }

  #logs({ blockHash, fromBlock, toBlock, topics, address }: Filter, highest: number): unknown {
    const { chain, random, trouble, faults } = this.#options;
    const blocks: SimBlock<State>[] = [];
    if (blockHash !== undefined) {
      const block = chain.blockOf(blockHash);
      if (block === undefined || block.number > highest) return unknownBlock();
      blocks.push(block);
    } else {
      if (random.chance(trouble)) return new RpcError(-32005, 'query returned more than 10000 results', null);
      // A node says nothing of blocks that it does not have yet.
      const last = Math.min(Number(toBlock), highest);
      for (let number = Number(fromBlock); number <= last; number += 1) {
        const block = chain.block(number);
        if (block !== undefined) blocks.push(block);
      }
    }
    const wanted = address?.toLowerCase();
    const logs = blocks
      .filter((block) => faults?.hasIndexed(block) !== false)
      .flatMap(logsOf)
      .filter((log) => (wanted === undefined || log.address.toLowerCase() === wanted) && matches(log.topics, topics));
    return faults === undefined ? logs : faults.given(logs);
  }
}

interface BlockOf {
  readonly blockHash: Hex;
}

interface Filter {
  readonly blockHash?: Hex;
  readonly fromBlock?: Hex;
  readonly toBlock?: Hex;
  readonly address?: Hex;
  readonly topics: readonly (Hex | readonly Hex[] | null)[];
}

function matches(topics: readonly Hex[], wanted: Filter['topics']): boolean {
  return wanted.every((one, place) => {
    const topic = topics[place];
    if (one === null) return topic !== undefined;
    return typeof one === 'string' ? topic === one : topic !== undefined && one.includes(topic);
  });
}

function unknownBlock(): RpcError {
  return new RpcError(-32000, 'header not found', null);
}
