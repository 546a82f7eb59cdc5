import t from 'tap';
import type { Order } from '../../src/engine/quote.js';
import { taggedJson } from '../../src/http/tagged-answer.js';
import { WrittenLists } from '../../src/http/written-lists.js';
import { sampleQuote } from '../engine/samples.js';

const order = (n: number): Order => ({ quote: sampleQuote({ n }), fillableSize: 1n, state: 'live', reason: null });
const [one, two, three] = [order(1), order(2), order(3)];

/** Wants a list as a route does, which is `body` when it has to be written. */
function want(lists: WrittenLists, orders: readonly Order[], index: number, body: string): string {
  const known = lists.find(orders, index);
  if (known === undefined) lists.keep(orders, taggedJson(body, `shown by ${body}`));
  else t.equal(known.etag, `"shown by ${Buffer.from(known.answer.body).toString()}"`);
  return known === undefined ? 'written' : Buffer.from(known.answer.body).toString();
}

t.test('a list is kept when it is wanted again, and given from then on', async (t) => {
  const lists = new WrittenLists(1000);
  const wanted = ['first', 'second', 'third', 'fourth'].map((body) => want(lists, [one, two], 1, body));
  t.strictSame(wanted, ['written', 'written', 'second', 'second']);
});

t.test('as many are kept as fit', async (t) => {
  const lists = new WrittenLists(1000);
  for (const orders of [[one], [two], [three]]) for (let i = 0; i < 2; i++) want(lists, orders, 1, 'kept');
  for (const orders of [[one], [two], [three]]) t.equal(want(lists, orders, 1, 'new'), 'kept');
});

t.test('an empty list is one, too', async (t) => {
  const lists = new WrittenLists(1000);
  const wanted = ['first', 'second', 'third'].map((body) => want(lists, [], 1, body));
  t.strictSame(wanted, ['written', 'written', 'second']);
});

t.test('other orders make another list, whatever the last one is', async (t) => {
  const lists = new WrittenLists(1000);
  for (let i = 0; i < 3; i++) want(lists, [one, two, three], 1, 'all');
  for (const orders of [[one, two], [two, three], [three], [two, one, three], []]) {
    t.equal(lists.find(orders, 1), undefined, `${orders.length} of them`);
  }
  t.equal(want(lists, [two, three], 1, 'two'), 'written');
  t.equal(want(lists, [two, three], 1, 'new'), 'two', 'it takes the place of the one with the same end');
});

t.test('all is forgotten with the next record', async (t) => {
  const lists = new WrittenLists(1000);
  for (let i = 0; i < 3; i++) want(lists, [one], 1, 'old');
  t.equal(want(lists, [one], 1, 'new'), 'old');
  for (const expected of ['written', 'written', 'new']) t.equal(want(lists, [one], 2, 'new'), expected);
});

t.test('a list that does not fit takes the place of all before, and one that never fits is not kept', async (t) => {
  const lists = new WrittenLists(115);
  for (const expected of ['written', 'written', 'ten bytes.']) t.equal(want(lists, [one], 1, 'ten bytes.'), expected);
  for (const expected of ['written', 'written', 'ten bytes.']) t.equal(want(lists, [two], 1, 'ten bytes.'), expected);
  t.equal(lists.find([one], 1), undefined);
  for (let i = 0; i < 3; i++) t.equal(want(lists, [three], 1, 'x'.repeat(116)), 'written');
});
