import t from 'tap';
import { pageMayConnect } from '../../src/ws/page-origin.js';

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
