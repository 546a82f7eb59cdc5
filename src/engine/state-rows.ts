import { assert } from './assert.js';
import type { ChainTrail } from './chain-trail.js';
import type { ChainPosition, ChainRole } from './command.js';
import { type BookOrder, compareAge } from './order-book.js';
import type { OrderStore } from './order-store.js';
import { PackedQuote, packedWords } from './packed-quote.js';
import { byDeployment, type DeployedPool, type PoolRegistry } from './pool-registry.js';
import type { Hex, InvalidReason, Pool, PoolKey } from './quote.js';
import { SpentNonce, Withdrawal } from './withdrawals.js';
import type { AuthorizationRow, FillLimitRow, Protections } from './protections.js';
import type { RfqRow, RfqStore } from './rfq-store.js';

/** [floor, position or null, blocks of the trail]; a position is [blockNumber, blockHash, logIndex]. */
export type ChainRow = readonly [
  floor: number,
  position: readonly [blockNumber: number, blockHash: Hex, logIndex: number | null] | null,
  blocks: readonly (readonly [blockNumber: number, blockHash: Hex])[],
];

/** A pool that is deployed, or has a quote, or both. `deployed`: [deployedAt, blockNumber, txHash, logIndex]. */
export type PoolRow = readonly [
  poolAddress: Hex,
  base: Hex,
  quote: Hex,
  oracleAdapter: Hex,
  strike: bigint,
  maturity: number,
  isCallPool: boolean,
  deployed: readonly [deployedAt: number, blockNumber: number, txHash: Hex, logIndex: number] | null,
];

/** `pool` is a place in the list of pools; what is fillable and the reason say whether it is live, invalid or gone. */
export type OrderRow = readonly [
  pool: number,
  quoteId: Hex,
  provider: Hex,
  taker: Hex,
  price: bigint,
  size: bigint,
  isBuy: boolean,
  deadline: number,
  salt: number,
  r: Hex,
  s: Hex,
  v: number,
  ts: number,
  blockNumber: number,
  txHash: Hex,
  logIndex: number,
  fillableSize: bigint,
  reason: InvalidReason | null,
  touchedBlock: number,
  readBlock: number,
];

/** A quote that its provider withdrew. */
export type WithdrawalRow = readonly [quoteId: Hex, provider: Hex, due: number];

/** A nonce that a provider signed with. */
export type NonceRow = readonly [provider: Hex, nonce: bigint, deadline: number];

/**
 * All that an engine is, as plain positional data. Two engines that will answer and do the same have the same rows in
 * the same order, however they came to be: pools by address, orders by age, withdrawals by id, nonces by provider.
 */
export interface EngineState {
  /** Last record applied, last event, last stamp. */
  readonly counters: readonly [index: number, seq: number, tsMs: number];
  readonly stream: ChainRow;
  readonly settlement: ChainRow;
  readonly pools: readonly PoolRow[];
  readonly orders: readonly OrderRow[];
  readonly withdrawals: readonly WithdrawalRow[];
  readonly nonces: readonly NonceRow[];
  /** Oldest first. They are on no chain, and in neither the state's hash nor its sum: a replay compares their events. */
  readonly rfqs: readonly RfqRow[];
  readonly authorizations: readonly AuthorizationRow[];
  readonly fillLimits: readonly FillLimitRow[];
}

/** The parts of an engine that rows are read from and written to. */
export interface EngineParts {
  readonly stream: ChainTrail;
  readonly settlement: ChainTrail;
  readonly pools: PoolRegistry;
  readonly store: OrderStore;
  readonly rfqs: RfqStore;
  readonly protections: Protections;
}

export function exportParts(parts: EngineParts): Omit<EngineState, 'counters'> {
  const all = new Map<Hex, Pool>();
  for (const { pool } of parts.pools.all()) all.set(pool.poolAddress, pool);
  const orders = [...parts.store.all()].sort(compareAge);
  for (const { quote } of orders) all.set(quote.pool.poolAddress, quote.pool);
  const addresses = [...all.keys()].sort();
  const places = new Map(addresses.map((address, place) => [address, place]));
  const poolRows = addresses.map((address) => poolRow(all.get(address), parts.pools.get(address)));
  return {
    stream: chainRow(parts.stream),
    settlement: chainRow(parts.settlement),
    pools: poolRows,
    orders: orders.map((order) => orderRow(order, places.get(order.quote.pool.poolAddress))),
    ...withdrawalRows(parts.store),
    rfqs: parts.rfqs.exportRows(),
    ...parts.protections.exportRows(),
  };
}

/** Into parts that are new. */
export function importParts(parts: EngineParts, state: EngineState): void {
  restoreChain(parts.stream, 'stream', state.stream);
  restoreChain(parts.settlement, 'settlement', state.settlement);
  parts.store.finalizeStream(parts.stream.floor);
  parts.store.finalizeSettlement(parts.settlement.floor);
  const deployedPools: DeployedPool[] = [];
  const pools = state.pools.map((row) => {
    const [poolAddress, base, quote, oracleAdapter, strike, maturity, isCallPool, deployed] = row;
    const poolKey: PoolKey = { base, quote, oracleAdapter, strike, maturity, isCallPool };
    const pool: Pool = { poolAddress, poolKey };
    if (deployed !== null) {
      const [deployedAt, blockNumber, txHash, logIndex] = deployed;
      deployedPools.push({ pool, deployedAt, origin: { blockNumber, txHash, logIndex } });
    }
    return pool;
  });
  // The rows are sorted by address, but the registry lists pools in the order of their deployment.
  for (const deployed of deployedPools.sort(byDeployment)) parts.pools.add(deployed);
  const { withdrawals } = parts.store;
  for (const [quoteId, provider, due] of state.withdrawals) withdrawals.add(new Withdrawal(quoteId, provider, due));
  for (const [provider, nonce, deadline] of state.nonces) {
    withdrawals.spend(new SpentNonce(provider, { nonce, deadline }));
  }
  // After the withdrawals: an order that is added looks whether it is among them.
  for (const row of state.orders) restoreOrder(parts.store, row, pools);
  const [, , tsMs] = state.counters;
  parts.protections.importRows(state.authorizations, state.fillLimits);
  parts.rfqs.importRows(state.rfqs, Math.floor(tsMs / 1000));
}

/** The same for the same state, whatever led to it. Counters and requests for quotes are left out. */
export function hashParts(parts: EngineParts, sha256: (text: string) => string): string {
  const { stream, settlement, pools, orders, withdrawals, nonces, authorizations, fillLimits } = exportParts(parts);
  const rows: readonly (readonly unknown[])[] = [
    ...[stream, settlement, ...pools, ...orders, ...withdrawals, ...nonces],
    ...[...authorizations, ...fillLimits],
  ];
  // Each digest goes into the next, so that a large state is never one string.
  let digest = '';
  for (let at = 0; at < rows.length; at += ROWS_A_DIGEST) {
    const lines = rows.slice(at, at + ROWS_A_DIGEST).map((row) => row.join());
    digest = sha256([digest, ...lines].join('\n'));
  }
  return digest;
}

/**
 * As `hashParts`, for what changed since it was last asked for: the chains' rows are few, and the others are summed up
 * as they change.
 */
export function sumParts(parts: EngineParts, sha256: (text: string) => string): string {
  const { stream, settlement, pools, store, protections } = parts;
  const lines = [store.sum.text(), pools.sum.text(), chainRow(stream).join(), chainRow(settlement).join()];
  // A state without withdrawals has the sum that it had before there were any.
  if (!store.withdrawals.isEmpty) lines.push(store.withdrawals.sum.text());
  if (!protections.isEmpty) lines.push(protections.digest(sha256));
  return sha256(lines.join('\n'));
}

const ROWS_A_DIGEST = 1000;

function chainRow({ floor, position, blocks }: ChainTrail): ChainRow {
  return [
    floor,
    position && [position.blockNumber, position.blockHash, position.logIndex],
    blocks.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]),
  ];
}

function withdrawalRows({ withdrawals }: OrderStore): Pick<EngineState, 'withdrawals' | 'nonces'> {
  const quotes = [...withdrawals.all()].sort((a, b) => compareTexts(a.quoteId, b.quoteId));
  const nonces = [...withdrawals.nonces()].sort(
    (a, b) => compareTexts(a.provider, b.provider) || (a.nonce < b.nonce ? -1 : 1),
  );
  return {
    withdrawals: quotes.map(({ quoteId, provider, due }) => [quoteId, provider, due]),
    nonces: nonces.map(({ provider, nonce, deadline }) => [provider, nonce, deadline]),
  };
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function poolRow(pool: Pool | undefined, deployed: DeployedPool | undefined): PoolRow {
  assert(pool !== undefined, 'every pool that is listed is known');
  const { base, quote, oracleAdapter, strike, maturity, isCallPool } = pool.poolKey;
  const origin = deployed?.origin;
  return [
    pool.poolAddress,
    base,
    quote,
    oracleAdapter,
    strike,
    maturity,
    isCallPool,
    deployed === undefined || origin === undefined
      ? null
      : [deployed.deployedAt, origin.blockNumber, origin.txHash, origin.logIndex],
  ];
}

function orderRow(order: BookOrder, pool: number | undefined): OrderRow {
  const { quote } = order;
  const { signature, origin } = quote;
  assert(pool !== undefined, 'every pool of an order is listed');
  return [
    pool,
    quote.quoteId,
    quote.provider,
    quote.taker,
    quote.price,
    quote.size,
    quote.isBuy,
    quote.deadline,
    quote.salt,
    signature.r,
    signature.s,
    signature.v,
    quote.ts,
    origin.blockNumber,
    origin.txHash,
    origin.logIndex,
    order.fillableSize,
    order.reason,
    order.touchedBlock,
    order.readBlock,
  ];
}

function restoreChain(trail: ChainTrail, chain: ChainRole, [floor, position, blocks]: ChainRow): void {
  const at: ChainPosition | null = position && {
    chain,
    blockNumber: position[0],
    blockHash: position[1],
    logIndex: position[2],
  };
  trail.restore(
    at,
    blocks.map(([blockNumber, blockHash]) => ({ blockNumber, blockHash })),
    floor,
  );
}

function restoreOrder(store: OrderStore, row: OrderRow, pools: readonly Pool[]): void {
  // By number: taking a row apart by a pattern runs an iterator, which is most of what a start with 100,000 quotes
  // would do here.
  const pool = pools[row[0]];
  assert(pool !== undefined, 'every pool of an order is listed');
  const quote = new PackedQuote({
    quoteId: row[1],
    pool,
    provider: row[2],
    taker: row[3],
    price: row[4],
    size: row[5],
    isBuy: row[6],
    deadline: row[7],
    salt: row[8],
    words: packedWords(row[9], row[10], row[14]),
    v: row[11],
    ts: row[12],
    blockNumber: row[13],
    logIndex: row[15],
  });
  const order = store.add(quote);
  order.touchedBlock = row[18];
  order.readBlock = row[19];
  store.restore(order, row[16], row[17]);
}
