import type { ChainPosition, WithdrawalReason } from '../engine/command.js';
import type { Engine } from '../engine/engine.js';
import type { JournalRecord } from '../engine/ports.js';
import { type Hex, isPrivate, type Order, reasonName } from '../engine/quote.js';
import { addTerm, type BookHash, hashText } from '../feed/book-hash.js';
import { mayWithdraw } from '../persistence/codec/record-codec.js';
import type { LogHistory } from '../persistence/log/log-history.js';
import type { BookProof } from '../wire/history.js';
import type { QuoteJson } from '../wire/quote-json.js';

type Position = BookProof['stream'];
type ProvenQuote = BookProof['quotes'][number];
type WithdrawalEvidence = BookProof['withdrawn'][number]['withdrawal'];

export interface BookProofParts {
  readonly chainId: string;
  readonly streamContract: Hex;
  readonly quoteJson: QuoteJson;
  readonly bookHash: BookHash;
}

/** The record that a quote was withdrawn with, and its event. */
export interface FoundWithdrawal {
  readonly record: JournalRecord;
  readonly seq: number;
  readonly reason: WithdrawalReason;
}

/** The public quotes of a pool that are withdrawn. */
export function withdrawnIn(engine: Engine, poolAddress: Hex): Hex[] {
  const orders = [...engine.ordersIn(poolAddress)].filter(
    ({ quote, state }) => state === 'withdrawn' && !isPrivate(quote),
  );
  return orders.map(({ quote }) => quote.quoteId);
}

/**
 * How each of these quotes came to be withdrawn as of record `throughIndex`, by the log. Where that is no longer kept, or
 * the log has more than `maxBytes` to be searched, a quote is missing.
 */
export async function findWithdrawals(
  history: Pick<LogHistory, 'droppedThroughSeq' | 'recordsWhere'>,
  quoteIds: readonly Hex[],
  throughIndex: number,
  maxBytes: number,
): Promise<{ readonly found: ReadonlyMap<Hex, FoundWithdrawal>; readonly bytesRead: number }> {
  const found = new Map<Hex, FoundWithdrawal>();
  let bytesRead = 0;
  if (quoteIds.length === 0) return { found, bytesRead };
  const wanted = new Set(quoteIds);
  const since = await history.droppedThroughSeq();
  try {
    for await (const { records, bytes } of history.recordsWhere(mayWithdraw, since, throughIndex)) {
      bytesRead += bytes;
      // Records that were not read may have restored a quote, and withdrawn it again.
      if (bytesRead > maxBytes) return { found: new Map(), bytesRead };
      for (const record of records) if (record.stamp.index <= throughIndex) noteWithdrawals(record, wanted, found);
    }
  } catch (error) {
    // A segment was dropped while it was read.
    if ((await history.droppedThroughSeq()) > since) return { found: new Map(), bytesRead };
    throw error;
  }
  return { found, bytesRead };
}

function noteWithdrawals(record: JournalRecord, wanted: ReadonlySet<Hex>, found: Map<Hex, FoundWithdrawal>): void {
  for (const event of record.events) {
    if (event.type !== 'QUOTE_WITHDRAWN' && event.type !== 'QUOTE_RESTORED') continue;
    const { quoteId } = event.order.quote;
    if (!wanted.has(quoteId)) continue;
    if (event.type === 'QUOTE_RESTORED') found.delete(quoteId);
    else found.set(quoteId, { record, seq: event.seq, reason: event.reason });
  }
}

function evidenceOf({ record, seq, reason }: FoundWithdrawal, engine: Engine): WithdrawalEvidence {
  const { command, stamp, events } = record;
  const common = { seq, tsMs: stamp.tsMs, reason };
  if (command.type !== 'WITHDRAW_QUOTES' || reason !== 'REQUESTED')
    return { ...common, evidence: 'RULE', signed: null };
  if (command.signed === null) return { ...common, evidence: 'SESSION', signed: null };
  if (command.message === undefined) return { ...common, evidence: 'NOT_RECORDED', signed: null };
  const { quoteIds, signature } = command.message;
  const known = new Map(
    events.flatMap((event) => ('order' in event ? [[event.order.quote.quoteId, event.order]] : [])),
  );
  // An id tells that there is a private quote.
  const isPublic = (quoteId: Hex): boolean => {
    const order = engine.get(quoteId) ?? known.get(quoteId);
    return order !== undefined && !isPrivate(order.quote);
  };
  if (!quoteIds.every(isPublic)) return { ...common, evidence: 'NOT_SHOWN', signed: null };
  const { nonce, deadline } = command.signed;
  const signed = { quoteIds: [...quoteIds], nonce: nonce.toString(), deadline, signature };
  return { ...common, evidence: 'SIGNATURE', signed };
}

/** The public quotes of a pool as the engine has them, with where on the chains it has them from. */
export function bookProof(
  engine: Engine,
  poolAddress: Hex,
  withdrawals: ReadonlyMap<Hex, FoundWithdrawal>,
  { chainId, streamContract, quoteJson, bookHash }: BookProofParts,
): BookProof {
  const orders = [...engine.ordersIn(poolAddress)].filter(({ quote }) => !isPrivate(quote));
  const proven = (order: Order): ProvenQuote => {
    const { blockNumber, txHash, logIndex } = order.quote.origin;
    const quote = JSON.parse(quoteJson.encode(order)) as ProvenQuote['quote'];
    return { quote, published: { blockNumber, txHash, logIndex } };
  };
  const ofState = (state: Order['state']): Order[] => orders.filter((order) => order.state === state);
  const live = ofState('live').map(proven);
  const hash = ofState('live').reduce(
    (sum, { quote, fillableSize }) => addTerm(sum, bookHash.quoteTerm(quote.quoteId, fillableSize)),
    0n,
  );
  const { stream, settlement } = engine.positions();
  return {
    chainId,
    poolAddress,
    poolKey: live[0]?.quote.poolKey ?? keyOf(engine, poolAddress),
    seq: engine.seq,
    tsMs: engine.tsMs,
    hash: hashText(hash),
    streamContract,
    stream: positionJson(stream),
    settlement: positionJson(settlement),
    quotes: live,
    invalid: ofState('invalid').flatMap((order) =>
      order.reason === null ? [] : { reason: reasonName(order.reason), ...proven(order) },
    ),
    withdrawn: ofState('withdrawn').map((order) => {
      const found = withdrawals.get(order.quote.quoteId);
      return { ...proven(order), withdrawal: found === undefined ? null : evidenceOf(found, engine) };
    }),
  };
}

function keyOf(engine: Engine, poolAddress: Hex): BookProof['poolKey'] {
  const key = engine.pool(poolAddress)?.pool.poolKey;
  return key === undefined ? null : { ...key, strike: key.strike.toString() };
}

function positionJson(position: ChainPosition | null): Position {
  if (position === null) return null;
  const { blockNumber, blockHash, logIndex } = position;
  return { blockNumber, blockHash, logIndex };
}
