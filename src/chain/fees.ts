import type { Rpc } from '../engine/ports.js';
import type { Hex } from '../engine/quote.js';

/** EIP-1559 fees of a transaction, wei per gas. */
export interface Fees {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** What a transaction should offer now: twice the node's gas price, so that it survives six full blocks in a row. */
export class FeeQuote {
  constructor(private readonly rpc: Rpc) {}

  async current(): Promise<Fees> {
    const [gasPrice, tip] = await Promise.all([
      this.rpc.request({ method: 'eth_gasPrice' }),
      this.rpc.request({ method: 'eth_maxPriorityFeePerGas' }).catch(() => '0x0'), // not every node has it
    ]);
    const price = BigInt(gasPrice as Hex) * 2n;
    const priority = BigInt(tip as Hex);
    return { maxFeePerGas: price > priority ? price : priority, maxPriorityFeePerGas: priority };
  }
}

/** Nodes replace a transaction only for at least a tenth more; an eighth is geth's own habit. */
export function raiseByAnEighth({ maxFeePerGas, maxPriorityFeePerGas }: Fees): Fees {
  return { maxFeePerGas: raised(maxFeePerGas), maxPriorityFeePerGas: raised(maxPriorityFeePerGas) };
}

/** The higher of each. */
export function higherFees(a: Fees, b: Fees): Fees {
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
