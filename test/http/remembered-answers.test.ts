import t from 'tap';
import { RememberedAnswers } from '../../src/http/remembered-answers.js';

const tagged = (body: string) => ({ etag: `"${body}"`, answer: { status: 200, headers: { etag: `"${body}"` }, body } });

/** Asks as a route does, for an answer whose body is `body` when it has to be made. */
function ask(answers: RememberedAnswers, path: string, query: string, index: number, body: string): string {
  const known = answers.find(path, query, index);
  if (known === undefined) answers.keep(path, query, tagged(body));
  return known === undefined ? 'made' : Buffer.from(known.answer.body).toString();
}

t.test('an answer is kept when it is asked for again, and given from then on', async (t) => {
  const answers = new RememberedAnswers(1000);
  const asked = ['first', 'second', 'third', 'fourth'].map((body) => ask(answers, '/a', 'x=1', 1, body));
  t.strictSame(asked, ['made', 'made', 'second', 'second']);
  t.equal(answers.find('/a', 'x=1', 1)?.etag, '"second"');
});

t.test('the same query of another path, and another query of the same, have answers of their own', async (t) => {
  const answers = new RememberedAnswers(1000);
  const targets = [
    ['/a', 'x=1'],
    ['/b', 'x=1'],
    ['/a', 'x=2'],
    ['/a', ''],
  ] as const;
  for (let round = 0; round < 2; round++)
    for (const [path, query] of targets) ask(answers, path, query, 1, path + query);
  for (let round = 0; round < 2; round++)
    for (const [path, query] of targets) t.equal(ask(answers, path, query, 1, 'new'), path + query);
});

t.test('all is forgotten with the next record', async (t) => {
  const answers = new RememberedAnswers(1000);
  for (let i = 0; i < 3; i++) ask(answers, '/a', '', 1, 'old');
  t.equal(ask(answers, '/a', '', 1, 'new'), 'old');
  t.equal(ask(answers, '/a', '', 2, 'new'), 'made');
  t.equal(ask(answers, '/a', '', 2, 'new'), 'made');
  t.equal(ask(answers, '/a', '', 2, 'newer'), 'new');
});

t.test('an answer that does not fit takes the place of all before', async (t) => {
  const answers = new RememberedAnswers(100);
  const body = 'thirty bytes of an answer.....';
  for (const path of ['/a', '/b']) for (let i = 0; i < 2; i++) ask(answers, path, 'x=1', 1, body);
  for (const path of ['/a', '/b']) t.equal(ask(answers, path, 'x=1', 1, ''), body);
  for (let i = 0; i < 2; i++) ask(answers, '/c', 'x=1', 1, body);
  t.equal(ask(answers, '/c', 'x=1', 1, ''), body);
  for (const path of ['/a', '/b']) t.equal(ask(answers, path, 'x=1', 1, ''), 'made');
});

t.test('an answer that never fits is not kept, and takes no other one’s place', async (t) => {
  const answers = new RememberedAnswers(60);
  for (let i = 0; i < 3; i++) ask(answers, '/a', 'x=1', 1, 'short');
  for (let i = 0; i < 3; i++) t.equal(ask(answers, '/b', 'x=1', 1, 'x'.repeat(60)), 'made');
  t.equal(ask(answers, '/a', 'x=1', 1, ''), 'short');
});

t.test('of queries that were asked once only so many are known, and none that is too long', async (t) => {
  const answers = new RememberedAnswers(160);
  const others = ['x=2', 'x=3', 'x=4'];
  for (const query of ['x=1', ...others]) t.equal(ask(answers, '/a', query, 1, query), 'made');
  for (let i = 0; i < 2; i++) t.equal(ask(answers, '/a', 'x=1', 1, 'x=1'), 'made', 'forgotten for the last of them');
  t.equal(ask(answers, '/a', 'x=1', 1, ''), 'x=1');
  for (let i = 0; i < 3; i++) t.equal(ask(answers, '/a', 'size=123456', 1, ''), 'made', 'too long');
  for (let i = 0; i < 3; i++) t.equal(ask(answers, '/a', 'size=12345', 1, ''), i < 2 ? 'made' : '');
});

t.test('an answer that is larger than all that may be kept is made each time', async (t) => {
  const answers = new RememberedAnswers(19);
  const asked = ['first', 'second', 'third'].map((body) => ask(answers, '/a', 'x=1', 1, body.padEnd(20)));
  t.strictSame(asked, ['made', 'made', 'made']);
});
