import t from 'tap';
import { AnswerHeaders } from '../../src/http/answer-headers.js';
import { requestOf } from './ask-route.js';

/** What both of an answer's shared headers say to who asks. */
function toldTo(origin: string | null): Record<string, string> {
  const headers = new AnswerHeaders({ allowOrigin: () => origin, staleness: () => null });
  const bare = { status: 200, headers: {}, body: '' };
  const { shared = [] } = headers.addTo(requestOf('GET', '/'), bare, 0, 'id', []);
  return Object.assign({}, ...shared.map(({ record }) => record)) as Record<string, string>;
}

t.test('where pages of some origins may read, a cache keeps answers by origin, also those that none may', async (t) => {
  t.match(toldTo('https://a.example'), { 'access-control-allow-origin': 'https://a.example', vary: 'origin' });
  t.strictSame(toldTo(null), { vary: 'origin' });
});

t.test('where all may, one answer is for everybody', async (t) => {
  t.match(toldTo('*'), { 'access-control-allow-origin': '*', vary: undefined });
});
