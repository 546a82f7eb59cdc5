import t from 'tap';
import { Keccak256 } from '../../src/auth/keccak256.js';
import type { Command } from '../../src/engine/command.js';
import { BookHash } from '../../src/feed/book-hash.js';
import { bookProof, findWithdrawals, type FoundWithdrawal, withdrawnIn } from '../../src/past/book-proof.js';
import { QuoteJson } from '../../src/wire/quote-json.js';
import { enter, MAKER, newEngine, POOL, quoteIdOf, sampleQuote, START } from '../engine/samples.js';

const keccak = new Keccak256();
const parts = {
  chainId: '421613',
  streamContract: POOL.poolAddress,
  quoteJson: new QuoteJson('421613', 10),
  bookHash: new BookHash((bytes) => keccak.of(bytes)),
};

/** A book of one quote that the command withdrew. */
function withdrawnBy(fields: object) {
  const engine = newEngine();
  const quoteId = quoteIdOf(1);
  engine.apply(enter(sampleQuote({ n: 1 })), { index: 1, tsMs: START * 1000 });
  const named = { type: 'WITHDRAW_QUOTES', provider: MAKER, quoteIds: [quoteId], reason: 'REQUESTED', signed: null };
  const command = { ...named, ...fields } as Command;
  const stamp = { index: 2, tsMs: START * 1000 };
  const events = engine.apply(command, stamp);
  const withdrawn = events.find((event) => event.type === 'QUOTE_WITHDRAWN');
  if (withdrawn?.type !== 'QUOTE_WITHDRAWN') throw new Error('it was not withdrawn');
  const found: FoundWithdrawal = { record: { stamp, command, events }, seq: withdrawn.seq, reason: withdrawn.reason };
  return { engine, found: new Map([[quoteId, found]]) };
}

const signed = { nonce: 7n, deadline: START + 60 };
const signature = { r: quoteIdOf(3), s: quoteIdOf(4), v: 28 };

for (const [evidence, fields] of [
  ['SESSION', {}],
  ['RULE', { reason: 'DISCONNECTED' }],
  ['NOT_RECORDED', { signed }],
  ['NOT_SHOWN', { signed, message: { quoteIds: [quoteIdOf(1), quoteIdOf(2)], signature } }],
  ['SIGNATURE', { signed, message: { quoteIds: [quoteIdOf(1)], signature } }],
] as const) {
  t.test(`what shows a withdrawal: ${evidence}`, async (t) => {
    const { engine, found } = withdrawnBy(fields);
    t.strictSame(withdrawnIn(engine, POOL.poolAddress), [quoteIdOf(1)]);
    const { withdrawn } = bookProof(engine, POOL.poolAddress, found, parts);
    const shown = { quoteIds: [quoteIdOf(1)], nonce: '7', deadline: START + 60, signature };
    t.match(withdrawn, [{ withdrawal: { evidence, signed: evidence === 'SIGNATURE' ? shown : null } }]);
  });
}

t.test('a withdrawal that the log does not have is null', async (t) => {
  const { engine } = withdrawnBy({});
  t.match(bookProof(engine, POOL.poolAddress, new Map(), parts).withdrawn, [{ withdrawal: null }]);
});

t.test('the search ends where it has read enough, and then says nothing', async (t) => {
  const { found } = withdrawnBy({ signed });
  const record = found.get(quoteIdOf(1))?.record;
  if (record === undefined) throw new Error('there is a record');
  const history = {
    droppedThroughSeq: async () => 0,
    async *recordsWhere() {
      yield { records: [record], seq: 2, bytes: 100 };
      yield { records: [], seq: 3, bytes: 100 };
    },
  };
  const search = (index: number, maxBytes: number) => findWithdrawals(history, [quoteIdOf(1)], index, maxBytes);
  t.strictSame([...(await search(2, 200)).found.keys()], [quoteIdOf(1)]);
  t.strictSame(await search(2, 199), { found: new Map(), bytesRead: 200 });
  t.strictSame([...(await search(1, 200)).found.keys()], [], 'of a record behind the point');
});
