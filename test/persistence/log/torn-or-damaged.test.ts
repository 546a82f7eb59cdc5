import t from 'tap';
import { scanLog } from '../../../src/persistence/log/log-scanner.js';
import { SeededRandom } from '../../simulation/seeded-random.js';
import { checkEveryEnd, checkEveryFlip, type Rest } from '../byte-by-byte.js';
import { FIRST_SEGMENT, madeLog, withFile } from '../made-log.js';

/** test/faults/byte-by-byte.test.ts does the same with a log of 64 KiB. */
const BYTES = 4 << 10;
const sealed = await madeLog(BYTES, true);
const unsealed = await madeLog(BYTES, false);
const random = new SeededRandom(3);

for (const rest of ['nothing', 'zeros', 'unused space', 'random bytes', 'older bytes'] satisfies Rest[]) {
  t.test(`a log that ends anywhere, and then has ${rest}, reads as the whole groups before`, async (t) => {
    t.ok((await checkEveryEnd(unsealed, rest, random)) >= BYTES);
  });
}

t.test('no flipped bit of a sealed log costs a record without a word', async (t) => {
  t.ok((await checkEveryFlip(sealed, random, true)) >= BYTES);
});

t.test('no flipped bit of a log that was killed goes unnoticed', async (t) => {
  const refused = await checkEveryFlip(unsealed, random, false);
  t.ok(refused >= (unsealed.ends.at(-2)?.offset ?? 0), `${refused} refused`);
});

t.test('damage is reported with the file, the byte and the last record before it', async (t) => {
  const middle = sealed.ends[3];
  const bytes = Buffer.from(sealed.files.get(FIRST_SEGMENT) ?? []);
  const at = (middle?.offset ?? 0) + 20;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await t.rejects(scanLog(withFile(sealed, FIRST_SEGMENT, bytes), sealed.epoch), {
    code: 'DAMAGED',
    place: { file: FIRST_SEGMENT, offset: middle?.offset, index: middle?.index },
    message: new RegExp(
      `^${FIRST_SEGMENT}, offset ${middle?.offset}, after record ${middle?.index} \\(seq \\d+\\): the CRC is wrong`,
    ),
  });
});

t.test('a group taken out of the middle shows, although every frame is whole', async (t) => {
  const [, first, second] = sealed.ends;
  const bytes = sealed.files.get(FIRST_SEGMENT) ?? Buffer.alloc(0);
  const without = Buffer.concat([bytes.subarray(0, first?.offset), bytes.subarray(second?.offset)]);
  await t.rejects(scanLog(withFile(sealed, FIRST_SEGMENT, without), sealed.epoch), { code: 'DAMAGED' });
});

t.test('two groups that changed places show', async (t) => {
  const [, a, b, c] = sealed.ends.map(({ offset }) => offset);
  const bytes = sealed.files.get(FIRST_SEGMENT) ?? Buffer.alloc(0);
  const swapped = [bytes.subarray(0, a), bytes.subarray(b, c), bytes.subarray(a, b), bytes.subarray(c)];
  await t.rejects(scanLog(withFile(sealed, FIRST_SEGMENT, Buffer.concat(swapped)), sealed.epoch), {
    code: 'DAMAGED',
  });
});

t.test("another log's segment shows", async (t) => {
  const other = unsealed.files.get(FIRST_SEGMENT) ?? Buffer.alloc(0);
  await t.rejects(scanLog(withFile(sealed, FIRST_SEGMENT, other), Buffer.alloc(8, 1)), /belongs to another log/);
});
