import t from 'tap';
import { checkRun, type Observation, type RecordedRun, type SeenEvent } from './history-checker.js';

function event(seq: number, quoteId: string, changes: Partial<SeenEvent> = {}): SeenEvent {
  return {
    seq,
    prevSeq: seq - 1,
    completeSeq: 0,
    type: 'POST_QUOTE',
    quoteId,
    text: `${seq} ${quoteId}`,
    atMs: 10 * seq,
    ...changes,
  };
}

function observer(name: string, events: readonly SeenEvent[], changes: Partial<Observation> = {}): Observation {
  return { observer: name, epochs: new Set(['log']), fromSeq: 0, events, endSeq: events.at(-1)?.seq ?? 0, ...changes };
}

const events = [event(1, 'a'), event(2, 'b'), event(3, 'c')];
const quoteIds = new Set(['a', 'b', 'c']);
const good: RecordedRun = {
  writes: [
    { quoteId: 'a', startMs: 0, endMs: 12 },
    { quoteId: 'b', startMs: 15, endMs: 40 },
    // While b was under way: either may come first.
    { quoteId: 'c', startMs: 18, endMs: 35 },
  ],
  reads: [{ quoteId: 'a', gateway: 'gateway-1', minSeq: null, isFound: true }],
  observations: [observer('one', events), observer('other', events.slice(1), { fromSeq: 1 })],
  books: [
    { source: 'gateway-1', hash: '0x1', quoteIds },
    { source: 'the chain', hash: '0x1', quoteIds },
  ],
};

t.test('a run that keeps its promises has no findings', (t) => {
  t.strictSame(checkRun(good), []);
  t.end();
});

const [first, other] = good.observations;
const [book] = good.books;
if (first === undefined || other === undefined || book === undefined) throw new Error('the run has observers');

const BROKEN: readonly (readonly [what: string, run: Partial<RecordedRun>, finding: RegExp])[] = [
  ['an acknowledged write without an event', { observations: [observer('one', events.slice(0, 2))] }, /no event of it/],
  [
    'a write that is posted twice',
    { observations: [observer('one', [...events, event(4, 'a')])] },
    /a was posted 2 times/,
  ],
  [
    'a gap',
    { observations: [observer('one', [event(1, 'a'), event(3, 'c', { prevSeq: 2 })])] },
    /missed what is between event 1 and event 3/,
  ],
  [
    'an event that comes twice',
    { observations: [observer('one', [...events, event(2, 'b')])] },
    /event 2 after event 3/,
  ],
  [
    'two events with one number',
    { observations: [first, observer('other', [event(2, 'x'), event(3, 'c')], { fromSeq: 1 })] },
    /event 2 is 2 b for one and 2 x for other/,
  ],
  [
    'an event that one observer was not sent',
    { observations: [first, observer('other', [event(3, 'c', { prevSeq: 1 })], { fromSeq: 1 })] },
    /other did not see event 2, which one saw/,
  ],
  [
    'an event behind what was said to be complete',
    { observations: [observer('one', [event(1, 'a'), event(2, 'b', { completeSeq: 2 }), event(3, 'c')])] },
    /event 2 after event 2/,
  ],
  ['an observer that stays behind', { observations: [first, { ...other, endSeq: 2 }] }, /other ended with event 2/],
  ['another log', { observations: [first, { ...other, epochs: new Set(['log', 'new']) }] }, /other read 2 logs/],
  [
    'an order that clients can tell is wrong',
    { observations: [observer('one', [event(1, 'b'), event(2, 'a', { atMs: 10 }), event(3, 'c')])] },
    /a was acknowledged before b was sent/,
  ],
  [
    'an event that is older than its write',
    { observations: [observer('one', [event(1, 'a', { atMs: -1 }), ...events.slice(1)])] },
    /saw quote a before it was sent/,
  ],
  [
    'a read that does not show the own write',
    { reads: [{ quoteId: 'a', gateway: 'gateway-2', minSeq: '1', isFound: false }] },
    /a was not at gateway-2, which has event 1/,
  ],
  ['a book with another hash', { books: [book, { ...book, source: 'x', hash: '0x2' }] }, /hash of x is 0x2/],
  [
    'a book without an acknowledged quote',
    { books: [book, { ...book, source: 'x', quoteIds: new Set(['a', 'c']) }] },
    /b was acknowledged, and is not in the book of x/,
  ],
  ['a run without a final book', { books: [] }, /no final book/],
];

for (const [what, changes, finding] of BROKEN) {
  t.test(`${what} is found`, (t) => {
    t.match(checkRun({ ...good, ...changes }).join('\n'), finding);
    t.end();
  });
}
