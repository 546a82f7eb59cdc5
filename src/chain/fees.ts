import type { Rpc } from '../engine/ports.js';
import { readWideQuantity } from './rpc-answers.js';

/** EIP-1559 fees of a transaction, wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** What transactions should offer. */
export class FeeQuote {
  constructor(
    private readonly rpc: Rpc,
    /** Wei per gas: a node may say what it likes, and more than this is not paid. */
    private readonly ceiling: bigint,
  ) {}

  /** For a new one: twice the node's gas price, so that it survives six full blocks in a row. */
  async current(): Promise<Fees> {
    const [gasPrice, tip] = await Promise.all([
      this.rpc.request({ method: 'eth_gasPrice' }),
      this.rpc.request({ method: 'eth_maxPriorityFeePerGas' }).catch(() => '0x0'), // not every node has it
    ]);
    const price = readWideQuantity(gasPrice) * 2n;
    const priority = readWideQuantity(tip);
    return this.#bounded({ maxFeePerGas: price > priority ? price : priority, maxPriorityFeePerGas: priority });
  }

  /**
   * For one that offered these and was not mined: an eighth more (`mayRise`), or what is asked now where that is
   * higher. The very same fees where there is no more to offer.
   */
  async next(fees: Fees, mayRise: boolean): Promise<Fees> {
    const current = await this.current();
    if (current.maxFeePerGas <= fees.maxFeePerGas && !mayRise) return fees;
    const next = this.#bounded(higherFees(raiseByAnEighth(fees), current));
    return next.maxFeePerGas > fees.maxFeePerGas ? next : fees;
  }

  #bounded({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Fees {
    return {
      maxFeePerGas: lower(maxFeePerGas, this.ceiling),
      maxPriorityFeePerGas: lower(maxPriorityFeePerGas, this.ceiling),
    };
  }
}

/** Nodes replace a transaction only for at least a tenth more; an eighth is geth's own habit. */
function raiseByAnEighth({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Fees {
  return { maxFeePerGas: raised(maxFeePerGas), maxPriorityFeePerGas: raised(maxPriorityFeePerGas) };
}

/** The higher of each. */
function higherFees(a: Fees, b: Fees): Fees {
  return {
    maxFeePerGas: higher(a.maxFeePerGas, b.maxFeePerGas),
    maxPriorityFeePerGas: higher(a.maxPriorityFeePerGas, b.maxPriorityFeePerGas),
  };
}

function raised(fee: bigint): bigint {
  return (fee * 9n) / 8n + 1n;
}

function higher(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

function lower(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
