import t from 'tap';
import { readJson } from '../../src/http/parse.js';

const read = (text: string, maxParts: number) => readJson(Buffer.from(text), maxParts);

t.test('a body of more objects, arrays and fields than are allowed is refused unparsed', async (t) => {
  const refusal = {
    keyword: 'maxParts',
    instancePath: '',
    schemaPath: '#',
    params: { limit: 5 },
    message: 'must NOT have more than 5 objects, arrays and fields',
  };
  for (const text of ['[{},{},{},{},{}]', '[[],[],[],[],[]]', '{"a":0,"b":0,"c":0,"d":0,"e":0}', '[[[[[[']) {
    t.strictSame(read(text, 5), { ok: false, code: 'malformed_body', error: [refusal] }, text);
  }
});

t.test('one of just as many is read, whatever else is in it', async (t) => {
  t.strictSame(read('[{"a":[1,2,3,4],"b":"five"}]', 5), { ok: true, value: [{ a: [1, 2, 3, 4], b: 'five' }] });
  t.match(read('[{"a":[]}', 5), { ok: false, code: 'malformed_body', error: [{ keyword: 'json' }] });
});
