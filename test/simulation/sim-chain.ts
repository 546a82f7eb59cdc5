import { numberToHex } from 'viem';
import type { Hex } from '../../src/engine/quote.js';

/** An event log before it is in a block. */
export interface SimLog {
  readonly address: Hex;
  readonly topics: readonly Hex[];
  readonly data: Hex;
}

export interface SimBlock<State> {
  readonly number: number;
  readonly hash: Hex;
  readonly parentHash: Hex;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly logs: readonly SimLog[];
  /** Of the contracts, after this block. */
  readonly state: State;
}

/** Effect of one transaction: its logs, and the state after it. */
export interface Happening<State> {
  readonly logs: readonly SimLog[];
  readonly state: State;
}

/**
 * A chain of blocks with logs and a state. Every block that was ever mined has a hash of its own, so that a branch
 * never comes again.
 */
export class SimChain<State> {
  #blocks: SimBlock<State>[];
  #mined = 0;
  /** The most that it ever had. */
  #tallest = 0;

  constructor(state: State, timestamp: number) {
    this.#blocks = [{ number: 0, hash: hashOf(0), parentHash: hashOf(0), timestamp, logs: [], state }];
  }

  get head(): SimBlock<State> {
    return this.#at(this.#blocks.length - 1);
  }

  get tallest(): number {
    return this.#tallest;
  }

  /** Of all blocks. */
  get logs(): SimLog[] {
    return this.#blocks.flatMap(({ logs }) => logs);
  }

  /** Undefined above the head. */
  block(number: number): SimBlock<State> | undefined {
    return this.#blocks[number];
  }

  /** Undefined when no such block is part of the chain. */
  blockOf(hash: unknown): SimBlock<State> | undefined {
    return this.#blocks.find((block) => block.hash === hash);
  }

  /** One block more; time stands still or goes on. */
  mine(timestamp: number, happen: (state: State) => Happening<State>): void {
    const { head } = this;
    const { logs, state } = happen(head.state);
    this.#mined += 1;
    this.#blocks.push({
      number: head.number + 1,
      hash: hashOf(this.#mined),
      parentHash: head.hash,
      timestamp: Math.max(timestamp, head.timestamp),
      logs,
      state,
    });
    this.#tallest = Math.max(this.#tallest, head.number + 1);
  }

  /** Blocks above `number` never were. */
  cutTo(number: number): void {
    this.#blocks = this.#blocks.slice(0, number + 1);
  }

  #at(number: number): SimBlock<State> {
    const block = this.#blocks[number];
    if (block === undefined) throw new Error(`there is no block ${number}`);
    return block;
  }
}

/** As `eth_getLogs` gives them. */
export function logsOf(block: SimBlock<unknown>): (SimLog & Record<string, unknown>)[] {
  return block.logs.map((log, logIndex) => ({
    ...log,
    blockNumber: numberToHex(block.number),
    blockHash: block.hash,
    transactionHash: `0x${'7'.repeat(8)}${block.hash.slice(10)}`,
    logIndex: numberToHex(logIndex),
  }));
}

/** As `eth_getBlockByNumber` gives it. */
export function headOf({ number, hash, parentHash, timestamp }: SimBlock<unknown>): Record<string, Hex> {
  return { number: numberToHex(number), hash, parentHash, timestamp: numberToHex(timestamp) };
}

/** What is wrong with a node's logs. */
export interface LogFaults {
  /** What the node says of a block's bloom filter; absent: nothing. */
  bloom(block: SimBlock<unknown>): { readonly logsBloom?: Hex };
  /** Whether its log index has the block. */
  hasIndexed(block: SimBlock<unknown>): boolean;
  /** What it gives of the logs that it was asked for. */
  given<Log>(logs: readonly Log[]): readonly Log[];
}

function hashOf(mined: number): Hex {
  return `0x${'b'.repeat(8)}${mined.toString(16).padStart(56, '0')}`;
}
