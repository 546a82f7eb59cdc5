import t from 'tap';
import { readyAgain, taggedJson } from '../../src/http/tagged-answer.js';

t.test('a tag is what is shown, in quotes; without it an answer has none', async (t) => {
  t.strictSame(taggedJson('[]', 'abc'), {
    etag: '"abc"',
    answer: { status: 200, headers: { 'content-type': 'application/json', etag: '"abc"' }, body: '[]' },
  });
  t.strictSame(taggedJson('[]', null), {
    etag: undefined,
    answer: { status: 200, headers: { 'content-type': 'application/json' }, body: '[]' },
  });
});

t.test('made ready, an answer says the same: its headers are joined and its text is bytes', async (t) => {
  const { etag, answer } = readyAgain(taggedJson('[]', 'abc'));
  t.equal(etag, '"abc"');
  t.equal(answer.status, 200);
  t.strictSame(answer.headers, {});
  t.strictSame(
    answer.shared?.map(({ record }) => record),
    [{ 'content-type': 'application/json', etag: '"abc"' }],
  );
  t.strictSame(answer.body, Buffer.from('[]'));
});

t.test('what is ready stays as it is', async (t) => {
  const ready = readyAgain(taggedJson(Buffer.from('[]'), 'abc'));
  t.equal(readyAgain(ready).answer, ready.answer);
});
