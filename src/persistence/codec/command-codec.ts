import type {
  Command,
  EarlyEvent,
  EnterQuote,
  FillBounds,
  QuoteState,
  RequestTerms,
  Rfq,
  SignedIds,
  SignedNonce,
  TimerKind,
  WithdrawalReason,
} from '../../engine/command.js';
import type { Hex, TradeTerms } from '../../engine/quote.js';
import { MsgpackError, type MsgpackReader } from './msgpack-reader.js';
import { pick, type QuoteReader, type QuoteWriter } from './quote-codec.js';

/**
 * How many fields follow the kind. A command's kind is its place in this list, which is only ever added to at its end.
 * docs/reference/log-format.md has the fields.
 */
const FIELDS = {
  ENTER_QUOTE: 4,
  FILL_QUOTE: 4,
  CANCEL_QUOTE: 3,
  SET_VALIDITY: 4,
  DEPLOY_POOL: 4,
  REWIND_STREAM: 1,
  REWIND_SETTLEMENT: 3,
  ADVANCE_POSITION: 1,
  PUBLISH_RFQ: 5,
  TICK: 0,
  EXPIRE_QUOTES: 2,
  WITHDRAW_QUOTES: 4,
  RESTORE_QUOTES: 3,
  CANCEL_RFQ: 1,
  AUTHORIZE_KEY: 4,
  SET_TIMER: 4,
  SET_FILL_LIMIT: 5,
} as const satisfies Record<Command['type'], number>;
const KINDS = Object.keys(FIELDS) as readonly Command['type'][];
const KIND_OF = Object.fromEntries(KINDS.map((type, kind) => [type, kind])) as Record<Command['type'], number>;

/**
 * Layout version of a record with that command and events of its time. A reader that does not know the command
 * recognises it by this.
 */
export function recordVersionOf(command: Command): number {
  if (hasMessage(command)) return 8;
  if (PROTECTING.has(command.type)) return 7;
  if (command.type === 'CANCEL_RFQ' || hasTerms(command)) return 6;
  if (command.type === 'WITHDRAW_QUOTES' || command.type === 'RESTORE_QUOTES') return 5;
  if (hasTrades(command)) return 4;
  if (command.type === 'ENTER_QUOTE' && hasPast(command)) return 3;
  return command.type === 'EXPIRE_QUOTES' ? 2 : 1;
}

/** Commands that set the timers and limits that withdraw quotes. */
const PROTECTING: ReadonlySet<Command['type']> = new Set(['AUTHORIZE_KEY', 'SET_TIMER', 'SET_FILL_LIMIT']);

/** Early events are written only where there are some, after the other fields. */
function hasPast({ early = [] }: EnterQuote): boolean {
  return early.length > 0;
}

/** Fields about trades are written after the others. */
function hasTrades(command: Command): boolean {
  if (command.type === 'FILL_QUOTE') return command.trade !== undefined;
  return command.type === 'REWIND_SETTLEMENT' && command.undoesTrades === true;
}

/** A request's terms are written after its other fields. */
function hasTerms(command: Command): boolean {
  return command.type === 'PUBLISH_RFQ' && command.terms !== undefined;
}

/** The signed message of a provider is written after the other fields. */
function hasMessage(command: Command): boolean {
  return (command.type === 'WITHDRAW_QUOTES' || command.type === 'RESTORE_QUOTES') && command.message !== undefined;
}

export function writeCommand(out: QuoteWriter, command: Command): void {
  const hasMore = hasTrades(command) || hasTerms(command) || hasMessage(command);
  const isLonger = (command.type === 'ENTER_QUOTE' && hasPast(command)) || hasMore;
  out.array(1 + FIELDS[command.type] + (isLonger ? 1 : 0));
  out.uint(KIND_OF[command.type]);
  switch (command.type) {
    case 'ENTER_QUOTE':
      out.quote(command.quote);
      writeState(out, command.state);
      out.uint(command.settlementBlock);
      out.position(command.position);
      if (hasPast(command)) writeEarly(out, command.early ?? []);
      return;
    case 'FILL_QUOTE':
      out.word(command.quoteId);
      out.amount(command.size);
      out.origin(command.origin);
      out.position(command.position);
      if (command.trade !== undefined) writeTerms(out, command.trade);
      return;
    case 'CANCEL_QUOTE':
      out.word(command.quoteId);
      out.origin(command.origin);
      return out.position(command.position);
    case 'SET_VALIDITY':
      out.word(command.quoteId);
      out.reason(command.reason);
      if (command.origin === null) out.nil();
      else out.origin(command.origin);
      return out.position(command.position);
    case 'DEPLOY_POOL':
      out.pool(command.pool);
      out.uint(command.deployedAt);
      out.origin(command.origin);
      return out.position(command.position);
    case 'REWIND_STREAM':
    case 'ADVANCE_POSITION':
      return out.position(command.position);
    case 'REWIND_SETTLEMENT':
      out.position(command.position);
      out.uint(command.settlementBlock);
      out.array(command.restated.length);
      for (const { quoteId, state } of command.restated) {
        out.array(2);
        out.word(quoteId);
        writeState(out, state);
      }
      if (command.undoesTrades === true) out.bool(true);
      return;
    case 'PUBLISH_RFQ':
      writeRfq(out, command.rfq);
      if (command.terms !== undefined) writeRfqTerms(out, command.terms);
      return;
    case 'TICK':
      return;
    case 'EXPIRE_QUOTES':
      out.uint(command.second);
      return writeIds(out, command.quoteIds);
    case 'WITHDRAW_QUOTES':
      out.address(command.provider);
      writeIds(out, command.quoteIds);
      writeWithdrawalReason(out, command.reason);
      writeSigned(out, command.signed);
      if (command.message !== undefined) writeMessage(out, command.message);
      return;
    case 'RESTORE_QUOTES':
      out.address(command.provider);
      writeIds(out, command.quoteIds);
      writeSigned(out, command.signed);
      if (command.message !== undefined) writeMessage(out, command.message);
      return;
    case 'CANCEL_RFQ':
      return out.text(command.rfqId);
    case 'AUTHORIZE_KEY':
      out.address(command.provider);
      out.text(command.owner);
      out.uint(command.until);
      return writeSigned(out, command.signed);
    case 'SET_TIMER':
      out.address(command.provider);
      out.text(command.owner);
      out.uint(TIMERS.indexOf(command.kind));
      return out.uint(command.seconds);
    case 'SET_FILL_LIMIT':
      out.address(command.provider);
      out.address(command.poolAddress);
      out.uint(command.until);
      writeBounds(out, command.bounds);
      return writeSigned(out, command.signed);
  }
}

function writeIds(out: QuoteWriter, quoteIds: readonly Hex[]): void {
  out.array(quoteIds.length);
  for (const quoteId of quoteIds) out.word(quoteId);
}

function readIds(input: MsgpackReader, quotes: QuoteReader): Hex[] {
  return Array.from({ length: input.array() }, () => quotes.word());
}

export function readCommand(input: MsgpackReader, quotes: QuoteReader): Command {
  const length = input.array();
  const type = pick(KINDS, input.uint(), 'command');
  const isLonger = LONGER.has(type) && length === 2 + FIELDS[type];
  if (!isLonger && length !== 1 + FIELDS[type]) throw new MsgpackError(`${type} with ${length - 1} fields`);
  const command = readFields(type, input, quotes);
  return isLonger ? readLast(command, input, quotes) : command;
}

/** Commands that may have one field more than FIELDS says. */
const LONGER: ReadonlySet<Command['type']> = new Set([
  'ENTER_QUOTE',
  'FILL_QUOTE',
  'REWIND_SETTLEMENT',
  'PUBLISH_RFQ',
  'WITHDRAW_QUOTES',
  'RESTORE_QUOTES',
]);

function readLast(command: Command, input: MsgpackReader, quotes: QuoteReader): Command {
  if (command.type === 'ENTER_QUOTE') {
    const early = readEarly(input, quotes);
    if (early.length === 0) throw new MsgpackError('an empty list of early events');
    return { ...command, early };
  }
  if (command.type === 'FILL_QUOTE') return { ...command, trade: readTerms(input, quotes) };
  if (command.type === 'PUBLISH_RFQ') return { ...command, terms: readRfqTerms(input, quotes) };
  if (command.type === 'WITHDRAW_QUOTES' || command.type === 'RESTORE_QUOTES') {
    if (command.signed === null) throw new MsgpackError(`${command.type} with a message and without its nonce`);
    return { ...command, message: readMessage(input, quotes) };
  }
  if (command.type !== 'REWIND_SETTLEMENT' || !input.bool()) throw new MsgpackError(`${command.type} undoes no trades`);
  return { ...command, undoesTrades: true };
}

/** Object literals are evaluated from top to bottom: the fields are read in the order in which they are named here. */
function readFields(type: Command['type'], input: MsgpackReader, quotes: QuoteReader): Command {
  switch (type) {
    case 'ENTER_QUOTE':
      return {
        type,
        quote: quotes.quote(),
        state: readState(input, quotes),
        settlementBlock: input.uint(),
        position: quotes.position(),
      };
    case 'FILL_QUOTE':
      return {
        type,
        quoteId: quotes.word(),
        size: input.amount(),
        origin: quotes.origin(),
        position: quotes.position(),
      };
    case 'CANCEL_QUOTE':
      return { type, quoteId: quotes.word(), origin: quotes.origin(), position: quotes.position() };
    case 'SET_VALIDITY':
      return {
        type,
        quoteId: quotes.word(),
        reason: quotes.reason(),
        origin: input.nil() ? null : quotes.origin(),
        position: quotes.position(),
      };
    case 'DEPLOY_POOL':
      return {
        type,
        pool: quotes.pool(),
        deployedAt: input.uint(),
        origin: quotes.origin(),
        position: quotes.position(),
      };
    case 'REWIND_STREAM':
    case 'ADVANCE_POSITION':
      return { type, position: quotes.position() };
    case 'REWIND_SETTLEMENT':
      return {
        type,
        position: quotes.position(),
        settlementBlock: input.uint(),
        restated: Array.from({ length: input.array() }, () => {
          input.tuple(2);
          return { quoteId: quotes.word(), state: readState(input, quotes) };
        }),
      };
    case 'PUBLISH_RFQ':
      return { type, rfq: readRfq(input, quotes) };
    case 'TICK':
      return { type };
    case 'WITHDRAW_QUOTES':
      return {
        type,
        provider: quotes.provider(),
        quoteIds: readIds(input, quotes),
        reason: readWithdrawalReason(input),
        signed: readSigned(input),
      };
    case 'RESTORE_QUOTES':
      return {
        type,
        provider: quotes.provider(),
        quoteIds: readIds(input, quotes),
        signed: readSigned(input),
      };
    case 'EXPIRE_QUOTES':
      return { type, second: input.uint(), quoteIds: readIds(input, quotes) };
    case 'CANCEL_RFQ':
      return { type, rfqId: input.text() };
    case 'AUTHORIZE_KEY':
      return {
        type,
        provider: quotes.provider(),
        owner: input.text(),
        until: input.uint(),
        signed: readSigned(input),
      };
    case 'SET_TIMER':
      return {
        type,
        provider: quotes.provider(),
        owner: input.text(),
        kind: pick(TIMERS, input.uint(), 'kind of a timer'),
        seconds: input.uint(),
      };
    case 'SET_FILL_LIMIT':
      return {
        type,
        provider: quotes.provider(),
        poolAddress: quotes.address(),
        until: input.uint(),
        bounds: readBounds(input),
        signed: readSigned(input),
      };
  }
}

function writeSigned(out: QuoteWriter, signed: SignedNonce | null): void {
  if (signed === null) return out.nil();
  out.array(2);
  out.amount(signed.nonce);
  out.uint(signed.deadline);
}

function readSigned(input: MsgpackReader): SignedNonce | null {
  if (input.nil()) return null;
  input.tuple(2);
  return { nonce: input.amount(), deadline: input.uint() };
}

function writeMessage(out: QuoteWriter, { quoteIds, signature }: SignedIds): void {
  out.array(4);
  writeIds(out, quoteIds);
  out.word(signature.r);
  out.word(signature.s);
  out.uint(signature.v);
}

function readMessage(input: MsgpackReader, quotes: QuoteReader): SignedIds {
  input.tuple(4);
  const quoteIds = readIds(input, quotes);
  return { quoteIds, signature: { r: quotes.word(), s: quotes.word(), v: input.uint() } };
}

/** Written as the place in this list, which is only ever added to at its end. */
const TIMERS: readonly TimerKind[] = ['HEARTBEAT', 'CONNECTION'];

function writeBounds(out: QuoteWriter, bounds: FillBounds | null): void {
  if (bounds === null) return out.nil();
  out.array(3);
  out.amount(bounds.contracts);
  out.uint(bounds.fills);
  out.uint(bounds.seconds);
}

function readBounds(input: MsgpackReader): FillBounds | null {
  if (input.nil()) return null;
  input.tuple(3);
  return { contracts: input.amount(), fills: input.uint(), seconds: input.uint() };
}

/** Written as the place in this list, which is only ever added to at its end. */
const WITHDRAWAL_REASONS: readonly WithdrawalReason[] = ['REQUESTED', 'DISCONNECTED', 'HEARTBEAT_MISSED', 'FILL_LIMIT'];

export function writeWithdrawalReason(out: QuoteWriter, reason: WithdrawalReason): void {
  out.uint(WITHDRAWAL_REASONS.indexOf(reason));
}

export function readWithdrawalReason(input: MsgpackReader): WithdrawalReason {
  return pick(WITHDRAWAL_REASONS, input.uint(), 'reason of a withdrawal');
}

export function writeRfq(out: QuoteWriter, rfq: Rfq): void {
  out.address(rfq.poolAddress);
  out.bool(rfq.side === 'bid');
  out.amount(rfq.size);
  out.address(rfq.taker);
  out.text(rfq.body);
}

export function readRfq(input: MsgpackReader, quotes: QuoteReader): Rfq {
  return {
    poolAddress: quotes.address(),
    side: input.bool() ? 'bid' : 'ask',
    size: input.amount(),
    taker: quotes.address(),
    body: input.text(),
  };
}

const RFQ_TERMS_FIELDS = 8;
const LEG_FIELDS = 3;

export function writeRfqTerms(out: QuoteWriter, terms: RequestTerms): void {
  out.array(RFQ_TERMS_FIELDS);
  out.text(terms.rfqId);
  out.text(terms.owner);
  if (terms.clientId === null) out.nil();
  else out.text(terms.clientId);
  out.uint(terms.validUntil);
  if (terms.taker === null) out.nil();
  else out.address(terms.taker);
  out.uint(terms.minQuotes);
  writeMakers(out, terms.makers);
  if (terms.leg === null) return out.nil();
  out.array(LEG_FIELDS);
  out.text(terms.leg.packageId);
  out.uint(terms.leg.place);
  out.uint(terms.leg.legs);
}

/** Object literals are evaluated from top to bottom. */
export function readRfqTerms(input: MsgpackReader, quotes: QuoteReader): RequestTerms {
  input.tuple(RFQ_TERMS_FIELDS);
  return {
    rfqId: input.text(),
    owner: input.text(),
    clientId: input.nil() ? null : input.text(),
    validUntil: input.uint(),
    taker: input.nil() ? null : quotes.address(),
    minQuotes: input.uint(),
    makers: readMakers(input, quotes),
    leg: readLeg(input),
  };
}

function readLeg(input: MsgpackReader): RequestTerms['leg'] {
  if (input.nil()) return null;
  input.tuple(LEG_FIELDS);
  return { packageId: input.text(), place: input.uint(), legs: input.uint() };
}

export function writeMakers(out: QuoteWriter, makers: RequestTerms['makers']): void {
  out.array(makers.length);
  for (const maker of makers) out.address(maker);
}

export function readMakers(input: MsgpackReader, quotes: QuoteReader): RequestTerms['makers'] {
  return Array.from({ length: input.array() }, () => quotes.address());
}

const TERMS_FIELDS = 7;

/** Of a trade, but for the quote and the size. */
export function writeTerms(out: QuoteWriter, { pool, provider, taker, price, fee, isBuy, time }: TradeTerms): void {
  out.array(TERMS_FIELDS);
  out.pool(pool);
  out.address(provider);
  out.address(taker);
  out.amount(price);
  out.amount(fee);
  out.bool(isBuy);
  out.uint(time);
}

export function readTerms(input: MsgpackReader, quotes: QuoteReader): TradeTerms {
  input.tuple(TERMS_FIELDS);
  return {
    pool: quotes.pool(),
    provider: quotes.provider(),
    taker: quotes.address(),
    price: input.amount(),
    fee: input.amount(),
    isBuy: input.bool(),
    time: input.uint(),
  };
}

function writeEarly(out: QuoteWriter, early: readonly EarlyEvent[]): void {
  out.array(early.length);
  for (const { size, origin } of early) {
    out.array(2);
    if (size === null) out.nil();
    else out.amount(size);
    out.origin(origin);
  }
}

function readEarly(input: MsgpackReader, quotes: QuoteReader): EarlyEvent[] {
  return Array.from({ length: input.array() }, () => {
    input.tuple(2);
    return { size: input.nil() ? null : input.amount(), origin: quotes.origin() };
  });
}

function writeState(out: QuoteWriter, state: QuoteState): void {
  out.array(2);
  out.amount(state.fillableSize);
  out.reason(state.reason);
}

function readState(input: MsgpackReader, quotes: QuoteReader): QuoteState {
  input.tuple(2);
  return { fillableSize: input.amount(), reason: quotes.reason() };
}
