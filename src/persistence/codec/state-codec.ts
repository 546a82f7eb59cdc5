import type { ChainRow, EngineState, NonceRow, OrderRow, PoolRow, WithdrawalRow } from '../../engine/state-rows.js';
import type { AuthorizationRow, FillLimitRow } from '../../engine/protections.js';
import type { RfqRow } from '../../engine/rfq-store.js';
import { GrowingBuffer } from '../disk/buffer.js';
import { readRfq, readRfqTerms, writeRfq, writeRfqTerms } from './command-codec.js';
import { MsgpackError, MsgpackReader } from './msgpack-reader.js';
import { QuoteReader, QuoteWriter } from './quote-codec.js';

/** Version of the state's layout. */
const STATE_VERSION = 1;
/** Version of the chunks of withdrawals and nonces, which older programs do not know. A state without any has none. */
const WITHDRAWALS_VERSION = 2;
/** Of the chunks of requests for quotes: programs that do not know them refuse it. A state without any has none. */
const RFQS_VERSION = 3;
/** Of the chunks of authorisations and fill limits, likewise. */
const PROTECTIONS_VERSION = 4;
/** Rows of one chunk: some 250 KB of orders. */
const ROWS_A_CHUNK = 1000;
const CHUNK_BYTES = 512 << 10;
const ORDER_FIELDS = 20;

const Part = {
  chains: 0,
  pools: 1,
  orders: 2,
  withdrawals: 3,
  nonces: 4,
  rfqs: 5,
  authorizations: 6,
  fillLimits: 7,
} as const;

/** A state without its counters, which the snapshot's header holds. */
export type StateRows = Omit<EngineState, 'counters'>;

/** The state's chunks in order; each is valid until the next is asked for. */
export function* encodeState(state: StateRows): Generator<Buffer> {
  const buffer = new GrowingBuffer(CHUNK_BYTES);
  const out = new QuoteWriter(buffer);
  function* chunks<Row>(
    part: number,
    rows: readonly Row[],
    write: (out: QuoteWriter, row: Row) => void,
  ): Generator<Buffer> {
    for (const some of batches(rows)) {
      buffer.clear(CHUNK_BYTES);
      out.array(3);
      out.uint(versionOf(part));
      out.uint(part);
      out.array(some.length);
      for (const row of some) write(out, row);
      yield buffer.view();
    }
  }
  yield* chunks(Part.chains, [state.stream, state.settlement], writeChain);
  yield* chunks(Part.pools, state.pools, writePool);
  yield* chunks(Part.orders, state.orders, writeOrder);
  yield* chunks(Part.withdrawals, state.withdrawals, writeWithdrawal);
  yield* chunks(Part.nonces, state.nonces, writeNonce);
  yield* chunks(Part.rfqs, state.rfqs, writeRfqRow);
  yield* chunks(Part.authorizations, state.authorizations, writeAuthorization);
  yield* chunks(Part.fillLimits, state.fillLimits, writeFillLimit);
}

/** Throws MsgpackError on anything but what `encodeState` made, all of it and in order. */
export function decodeState(chunks: Iterable<Buffer>): StateRows {
  const input = new MsgpackReader();
  const quotes = new QuoteReader(input);
  const chains: ChainRow[] = [];
  const pools: PoolRow[] = [];
  const orders: OrderRow[] = [];
  const withdrawals: WithdrawalRow[] = [];
  const nonces: NonceRow[] = [];
  const rfqs: RfqRow[] = [];
  const authorizations: AuthorizationRow[] = [];
  const fillLimits: FillLimitRow[] = [];
  for (const chunk of chunks) {
    input.begin(chunk);
    input.tuple(3);
    const version = input.uint();
    const part = input.uint();
    if (version !== versionOf(part)) throw new MsgpackError(`a state of version ${version}`);
    const rows = input.array();
    for (let row = 0; row < rows; row += 1) {
      if (part === Part.chains) chains.push(readChain(input, quotes));
      else if (part === Part.pools) pools.push(readPool(input, quotes));
      else if (part === Part.orders) orders.push(readOrder(input, quotes));
      else if (part === Part.withdrawals) withdrawals.push(readWithdrawal(input, quotes));
      else if (part === Part.nonces) nonces.push(readNonce(input, quotes));
      else if (part === Part.rfqs) rfqs.push(readRfqRow(input, quotes));
      else if (part === Part.authorizations) authorizations.push(readAuthorization(input, quotes));
      else if (part === Part.fillLimits) fillLimits.push(readFillLimit(input, quotes));
      else throw new MsgpackError(`unknown part ${part} of a state`);
    }
    input.end();
  }
  const [stream, settlement, ...others] = chains;
  if (stream === undefined || settlement === undefined || others.length > 0) {
    throw new MsgpackError(`${chains.length} chains in a state`);
  }
  return { stream, settlement, pools, orders, withdrawals, nonces, rfqs, authorizations, fillLimits };
}

function versionOf(part: number): number {
  if (part === Part.rfqs) return RFQS_VERSION;
  if (part === Part.authorizations || part === Part.fillLimits) return PROTECTIONS_VERSION;
  return part === Part.withdrawals || part === Part.nonces ? WITHDRAWALS_VERSION : STATE_VERSION;
}

function writeWithdrawal(out: QuoteWriter, [quoteId, provider, due]: WithdrawalRow): void {
  out.array(3);
  out.word(quoteId);
  out.address(provider);
  out.uint(due);
}

function readWithdrawal(input: MsgpackReader, quotes: QuoteReader): WithdrawalRow {
  input.tuple(3);
  return [quotes.word(), quotes.provider(), input.uint()];
}

function writeNonce(out: QuoteWriter, [provider, nonce, deadline]: NonceRow): void {
  out.array(3);
  out.address(provider);
  out.amount(nonce);
  out.uint(deadline);
}

function readNonce(input: MsgpackReader, quotes: QuoteReader): NonceRow {
  input.tuple(3);
  return [quotes.provider(), input.amount(), input.uint()];
}

function writeAuthorization(out: QuoteWriter, [provider, owner, until, heartbeat, connection]: AuthorizationRow): void {
  out.array(5);
  out.address(provider);
  out.text(owner);
  out.uint(until);
  out.uint(heartbeat);
  out.uint(connection);
}

function readAuthorization(input: MsgpackReader, quotes: QuoteReader): AuthorizationRow {
  input.tuple(5);
  return [quotes.provider(), input.text(), input.uint(), input.uint(), input.uint()];
}

function writeFillLimit(out: QuoteWriter, row: FillLimitRow): void {
  const [provider, poolAddress, contracts, fills, seconds, until, recent] = row;
  out.array(7);
  out.address(provider);
  out.address(poolAddress);
  out.amount(contracts);
  out.uint(fills);
  out.uint(seconds);
  out.uint(until);
  out.array(recent.length);
  for (const [blockNumber, time, size, count] of recent) {
    out.array(4);
    out.uint(blockNumber);
    out.uint(time);
    out.amount(size);
    out.uint(count);
  }
}

function readFillLimit(input: MsgpackReader, quotes: QuoteReader): FillLimitRow {
  input.tuple(7);
  return [
    quotes.provider(),
    quotes.address(),
    input.amount(),
    input.uint(),
    input.uint(),
    input.uint(),
    Array.from({ length: input.array() }, () => {
      input.tuple(4);
      return [input.uint(), input.uint(), input.amount(), input.uint()] as const;
    }),
  ];
}

function* batches<Row>(rows: readonly Row[]): Generator<readonly Row[]> {
  for (let at = 0; at < rows.length; at += ROWS_A_CHUNK) yield rows.slice(at, at + ROWS_A_CHUNK);
}

/** The engine's "no block" is -1; here it is nil. */
function writeBlock(out: QuoteWriter, blockNumber: number): void {
  if (blockNumber < 0) out.nil();
  else out.uint(blockNumber);
}

function readBlock(input: MsgpackReader): number {
  return input.nil() ? -1 : input.uint();
}

function writeChain(out: QuoteWriter, [floor, position, blocks]: ChainRow): void {
  out.array(3);
  writeBlock(out, floor);
  if (position === null) out.nil();
  else {
    const [blockNumber, blockHash, logIndex] = position;
    out.array(3);
    out.uint(blockNumber);
    out.word(blockHash);
    if (logIndex === null) out.nil();
    else out.uint(logIndex);
  }
  out.array(blocks.length);
  for (const [blockNumber, blockHash] of blocks) {
    out.array(2);
    out.uint(blockNumber);
    out.word(blockHash);
  }
}

function readChain(input: MsgpackReader, quotes: QuoteReader): ChainRow {
  input.tuple(3);
  const floor = readBlock(input);
  let position: ChainRow[1] = null;
  if (!input.nil()) {
    input.tuple(3);
    position = [input.uint(), quotes.word(), input.nil() ? null : input.uint()];
  }
  const blocks = Array.from({ length: input.array() }, () => {
    input.tuple(2);
    return [input.uint(), quotes.word()] as const;
  });
  return [floor, position, blocks];
}

function writePool(out: QuoteWriter, row: PoolRow): void {
  const [poolAddress, base, quote, oracleAdapter, strike, maturity, isCallPool, deployed] = row;
  out.array(2);
  out.wholePool({ poolAddress, poolKey: { base, quote, oracleAdapter, strike, maturity, isCallPool } });
  if (deployed === null) return out.nil();
  const [deployedAt, blockNumber, txHash, logIndex] = deployed;
  out.array(2);
  out.uint(deployedAt);
  out.origin({ blockNumber, txHash, logIndex });
}

function readPool(input: MsgpackReader, quotes: QuoteReader): PoolRow {
  input.tuple(2);
  const { poolAddress, poolKey } = quotes.wholePool();
  const { base, quote, oracleAdapter, strike, maturity, isCallPool } = poolKey;
  let deployed: PoolRow[7] = null;
  if (!input.nil()) {
    input.tuple(2);
    const deployedAt = input.uint();
    const { blockNumber, txHash, logIndex } = quotes.origin();
    deployed = [deployedAt, blockNumber, txHash, logIndex];
  }
  return [poolAddress, base, quote, oracleAdapter, strike, maturity, isCallPool, deployed];
}

function writeOrder(out: QuoteWriter, row: OrderRow): void {
  const [pool, quoteId, provider, taker, price, size, isBuy, deadline, salt, r, s, v, ts, ...rest] = row;
  const [blockNumber, txHash, logIndex, fillableSize, reason, touchedBlock, readBlock] = rest;
  out.array(ORDER_FIELDS);
  out.uint(pool);
  out.word(quoteId);
  out.address(provider);
  out.taker(taker);
  out.amount(price);
  out.amount(size);
  out.bool(isBuy);
  out.uint(deadline);
  out.uint(salt);
  out.word(r);
  out.word(s);
  out.uint(v);
  out.uint(ts);
  out.uint(blockNumber);
  out.word(txHash);
  out.uint(logIndex);
  out.amount(fillableSize);
  out.reason(reason);
  writeBlock(out, touchedBlock);
  writeBlock(out, readBlock);
}

/** Array literals are evaluated from left to right. */
function readOrder(input: MsgpackReader, quotes: QuoteReader): OrderRow {
  input.tuple(ORDER_FIELDS);
  return [
    input.uint(),
    quotes.word(),
    quotes.provider(),
    quotes.taker(),
    input.amount(),
    input.amount(),
    input.bool(),
    input.uint(),
    input.uint(),
    quotes.word(),
    quotes.word(),
    input.uint(),
    input.uint(),
    input.uint(),
    quotes.txHash(),
    input.uint(),
    input.amount(),
    quotes.reason(),
    readBlock(input),
    readBlock(input),
  ];
}

const RFQ_FIELDS = 9;
const ANSWER_FIELDS = 6;
const FILL_FIELDS = 3;

function writeRfqRow(out: QuoteWriter, [rfq, terms, openedAt, isCancelled, answers]: RfqRow): void {
  out.array(RFQ_FIELDS);
  writeRfq(out, rfq);
  writeRfqTerms(out, terms);
  out.uint(openedAt);
  out.bool(isCancelled);
  out.array(answers.length);
  for (const [quoteId, provider, price, fillableSize, isLive, fills] of answers) {
    out.array(ANSWER_FIELDS);
    out.word(quoteId);
    out.address(provider);
    out.amount(price);
    out.amount(fillableSize);
    out.bool(isLive);
    out.array(fills.length);
    for (const [blockNumber, logIndex, size] of fills) {
      out.array(FILL_FIELDS);
      out.uint(blockNumber);
      out.uint(logIndex);
      out.amount(size);
    }
  }
}

/** Array literals are evaluated from left to right. */
function readRfqRow(input: MsgpackReader, quotes: QuoteReader): RfqRow {
  input.tuple(RFQ_FIELDS);
  return [
    readRfq(input, quotes),
    readRfqTerms(input, quotes),
    input.uint(),
    input.bool(),
    Array.from({ length: input.array() }, () => {
      input.tuple(ANSWER_FIELDS);
      return [
        quotes.word(),
        quotes.address(),
        input.amount(),
        input.amount(),
        input.bool(),
        Array.from({ length: input.array() }, () => {
          input.tuple(FILL_FIELDS);
          return [input.uint(), input.uint(), input.amount()] as const;
        }),
      ] as const;
    }),
  ];
}
