import t from 'tap';
import { AsciiWriter } from '../../src/schema/ascii-writer.js';

/** What is written of these texts with room for so many bytes to begin with. */
function written(capacity: number, texts: readonly string[]): string {
  const out = new AsciiWriter(capacity);
  for (const text of texts) out.write(text);
  return out.finish().toString();
}

t.test('texts come one behind the other, and nothing after them', async (t) => {
  t.equal(written(100, ['[', '"a"', '', ']']), '["a"]');
  t.equal(written(5, ['12345']), '12345');
  t.equal(written(5, []), '');
});

t.test('what outgrows its room stays whole, however it comes', async (t) => {
  const long = Array.from({ length: 1_000 }, (_, i) => `${i},`);
  for (const capacity of [1, 2, 10, 3_889]) t.equal(written(capacity, long), long.join(''), `from ${capacity} bytes`);
  const large = 'x'.repeat(10_000);
  t.equal(written(4, ['ab', large, 'c']), `ab${large}c`, 'more at once than twice the room');
});
