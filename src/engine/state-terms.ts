import type { BookOrder } from './book-order.js';
import type { DeployedPool } from './pool-registry.js';
import type { Origin, Pool } from './quote.js';
import type { WordMixer } from './word-mixer.js';

/**
 * An order as the state sum has it: what it is by its id, when it came, and what became of it. The id is the digest of
 * all that the maker signed, so that looking at the rest of the quote would find little more, and take five times as
 * long: a dozen strings that are in no cache.
 */
export function mixOrder(order: BookOrder, mixer: WordMixer): void {
  const { quoteId, ts } = order.quote;
  mixer.begin();
  mixer.hex(quoteId);
  mixer.count(ts);
  mixer.count(order.blockNumber);
  mixer.count(order.logIndex);
  mixer.amount(order.fillableSize);
  mixer.word(order.reason ?? 0);
  mixer.count(order.touchedBlock);
  mixer.count(order.readBlock);
}

export function mixDeployedPool({ pool, deployedAt, origin }: DeployedPool, mixer: WordMixer): void {
  mixer.begin();
  mixPool(pool, mixer);
  mixer.count(deployedAt);
  mixOrigin(origin, mixer);
}

function mixPool({ poolAddress, poolKey }: Pool, mixer: WordMixer): void {
  mixer.hex(poolAddress);
  mixer.hex(poolKey.base);
  mixer.hex(poolKey.quote);
  mixer.hex(poolKey.oracleAdapter);
  mixer.amount(poolKey.strike);
  mixer.count(poolKey.maturity);
  mixer.word(poolKey.isCallPool ? 1 : 0);
}

function mixOrigin({ blockNumber, txHash, logIndex }: Origin, mixer: WordMixer): void {
  mixer.count(blockNumber);
  mixer.hex(txHash);
  mixer.count(logIndex);
}
