import t from 'tap';
import { ConnectionCounts, pageMayConnect } from '../../src/ws/admission.js';

const allowed = ['https://desk.example'];

t.test('a program, which has no origin, may connect', async (t) => {
  t.ok(pageMayConnect(allowed, undefined, 'book.example'));
});

t.test('pages may connect whose origin is allowed', async (t) => {
  t.ok(pageMayConnect(allowed, 'https://desk.example', 'book.example'));
  t.ok(pageMayConnect(['*'], 'https://any.example', 'book.example'));
});

t.test("the service's own page may connect", async (t) => {
  t.ok(pageMayConnect(allowed, 'https://book.example', 'book.example'));
  t.ok(pageMayConnect(allowed, 'http://127.0.0.1:8080', '127.0.0.1:8080'));
});

t.test('any other page may not, nor what only looks like an allowed one', async (t) => {
  for (const origin of [
    'https://evil.example',
    'https://desk.example.evil',
    'http://desk.example',
    'null',
    'desk',
    '*',
  ]) {
    t.notOk(pageMayConnect(allowed, origin, 'book.example'), origin);
  }
  t.notOk(pageMayConnect(allowed, 'https://book.example', undefined));
});

t.test('one of several that is closed leaves the others counted', async (t) => {
  const tally = new ConnectionCounts();
  for (const name of ['a', 'a', 'a', 'b']) tally.add(name);
  tally.remove('a');
  t.strictSame([tally.of('a'), tally.of('b'), tally.total], [2, 1, 3]);
});

t.test('who has nothing open counts for nothing, and may open again', async (t) => {
  const tally = new ConnectionCounts();
  tally.add('a');
  tally.remove('a');
  t.strictSame([tally.of('a'), tally.total], [0, 0]);
  tally.add('a');
  t.strictSame([tally.of('a'), tally.total], [1, 1]);
});
