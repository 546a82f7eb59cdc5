import type { ChainRow, EngineState, OrderRow, PoolRow } from '../../src/engine/state-rows.js';
import { sha256 } from './samples.js';

const PRIMES = [0x9e3779b1n, 0x85ebca77n, 0xc2b2ae3dn, 0x27d4eb2fn];
const MASK = (1n << 32n) - 1n;

/**
 * The state sum by the letter of docs/reference/log-format.md: of a whole state, with nothing remembered, in numbers that have no
 * end.
 */
export function naiveSum(state: Omit<EngineState, 'counters'>): string {
  const { stream, settlement, pools, orders, withdrawals, nonces, authorizations, fillLimits } = state;
  const lines = [
    sumOf(orders.map(orderWords)),
    sumOf(pools.flatMap((row) => deployedWords(row))),
    chainLine(stream),
    chainLine(settlement),
  ];
  if (withdrawals.length + nonces.length > 0) {
    lines.push(
      sumOf([
        ...withdrawals.map(([quoteId, provider, due]) => [1n, ...digits(quoteId), ...digits(provider), ...low(due, 2)]),
        ...nonces.map(([provider, nonce, deadline]) => [
          2n,
          ...digits(provider),
          ...amount(nonce),
          ...low(deadline, 2),
        ]),
      ]),
    );
  }
  const protections = [...authorizations, ...fillLimits];
  if (protections.length > 0) lines.push(sha256(protections.map((row) => row.join()).join('\n')));
  return sha256(lines.join('\n'));
}

function sumOf(members: readonly (readonly bigint[])[]): string {
  const sums = PRIMES.map((prime, place) => {
    const lane = (words: readonly bigint[]): bigint => laneOf(words, BigInt(place + 1), prime);
    return members.reduce((sum, words) => (sum + lane(words)) & MASK, 0n);
  });
  return sums.map((sum) => sum.toString(16).padStart(8, '0')).join('');
}

function laneOf(words: readonly bigint[], seed: bigint, prime: bigint): bigint {
  let lane = seed;
  for (const word of words) {
    lane = ((lane ^ word) * prime) & MASK;
    lane ^= lane >> 15n;
  }
  lane = ((lane ^ (lane >> 16n)) * 0x85ebca6bn) & MASK;
  lane = ((lane ^ (lane >> 13n)) * 0xc2b2ae35n) & MASK;
  return lane ^ (lane >> 16n);
}

function orderWords(row: OrderRow): bigint[] {
  const [, quoteId, , , , , , , , , , , ts, blockNumber, , logIndex, ...became] = row;
  const [fillableSize, reason, touchedBlock, readBlock] = became;
  return [
    ...digits(quoteId),
    ...low(ts, 2),
    ...low(blockNumber, 2),
    ...low(logIndex, 2),
    ...amount(fillableSize),
    BigInt(reason ?? 0),
    ...low(touchedBlock, 2),
    ...low(readBlock, 2),
  ];
}

function deployedWords(row: PoolRow): bigint[][] {
  const deployed = row[7];
  if (deployed === null) return [];
  const [deployedAt, blockNumber, txHash, logIndex] = deployed;
  return [[...poolWords(row), ...low(deployedAt, 2), ...low(blockNumber, 2), ...digits(txHash), ...low(logIndex, 2)]];
}

function poolWords([poolAddress, base, quote, oracleAdapter, strike, maturity, isCallPool]: PoolRow): bigint[] {
  const addresses = [poolAddress, base, quote, oracleAdapter].flatMap(digits);
  return [...addresses, ...amount(strike), ...low(maturity, 2), isCallPool ? 1n : 0n];
}

function chainLine([floor, position, blocks]: ChainRow): string {
  const at = position === null ? [''] : [position[0], position[1], position[2] ?? ''];
  const trail = blocks.length === 0 ? [''] : blocks.flat();
  return [floor, ...at, ...trail].join(',');
}

function amount(value: bigint): bigint[] {
  const words = value < 2n ** 64n ? 2 : 8;
  return [BigInt(words), ...low(value, words)];
}

function digits(text: string): bigint[] {
  return (text.slice(2).match(/.{8}/g) ?? []).map((word) => BigInt(`0x${word}`));
}

/** So many words, the lowest first; negative numbers in two's complement. */
function low(value: bigint | number, words: number): bigint[] {
  return Array.from({ length: words }, (_, place) => (BigInt(value) >> BigInt(32 * place)) & MASK);
}
