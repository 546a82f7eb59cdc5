import { readdirSync, readFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import t from 'tap';
import { FILE_FORMAT } from '../../../src/persistence/format/header.js';
import { dumpLog, verifyLog } from '../../../src/persistence/recovery/log-tools.js';
import { silent } from '../../simulation/simulated-log.js';
import { GOLDEN } from '../golden-log.js';
import { MemoryDisk } from '../memory-disk.js';

const formats = readdirSync(GOLDEN).sort();
const filesOf = (format: string): Map<string, Buffer> => {
  const directory = new URL(`${format}/`, GOLDEN);
  return new Map(readdirSync(directory).map((name) => [name, readFileSync(new URL(name, directory))]));
};

t.ok(formats.includes(String(FILE_FORMAT)), 'the present format has its golden files');

for (const format of formats) {
  const files = filesOf(format);
  const expected = JSON.parse(String(files.get('expected.json'))) as object;

  t.test(`a log of format ${format} is read, from its snapshots and from its first record`, async (t) => {
    const report = await verifyLog(new MemoryDisk(files), silent);
    t.match(report, { ...expected, tornBytes: 0 });
    t.ok(report.snapshotIndex > 0);
    const records = [...files].filter(([name]) => !name.endsWith('.snap'));
    const replayed = await verifyLog(new MemoryDisk(records), silent);
    t.match(replayed, { ...expected, snapshotIndex: 0 });
    t.ok(replayed.comparedHashes >= 3, `${replayed.comparedHashes} state hashes on the way`);
  });

  t.test(`each record of format ${format} says what it said`, async (t) => {
    const lines: string[] = [];
    for await (const line of dumpLog(new MemoryDisk(files), 0)) lines.push(line);
    t.strictSame(lines, String(files.get('records.jsonl')).trimEnd().split('\n'));
  });
}

/** The format stands behind the frame's head, an array's head, and the kind of file with its length. */
function asFormat(bytes: Buffer, kind: string, format: number): Buffer {
  const changed = Buffer.from(bytes);
  changed[12 + 1 + 1 + kind.length] = format;
  const end = 12 + changed.readUInt32LE(4);
  changed.writeUInt32LE(crc32(changed.subarray(4, end)), 0);
  return changed;
}

t.test('files of a newer format are refused by their version', async (t) => {
  const files = filesOf(String(FILE_FORMAT));
  const snapshot = [...files.keys()].filter((name) => name.endsWith('.snap')).at(-1) ?? '';
  for (const [name, kind] of [
    ['segment-00000001.log', 'quotebook log'],
    [snapshot, 'quotebook snapshot'],
  ] as const) {
    const bytes = files.get(name) ?? Buffer.alloc(0);
    const same = new Map(files).set(name, asFormat(bytes, kind, FILE_FORMAT));
    await t.resolves(verifyLog(new MemoryDisk(same), silent));
    const newer = new Map(files).set(name, asFormat(bytes, kind, FILE_FORMAT + 1));
    await t.rejects(verifyLog(new MemoryDisk(newer), silent), {
      code: 'NEWER_FORMAT',
      message: new RegExp(`of format ${FILE_FORMAT + 1}`),
    });
  }
  const stamp = String(files.get('stamp.json')).replace('"format": 2', '"format": 3');
  const newer = new Map(files).set('stamp.json', Buffer.from(stamp));
  await t.rejects(verifyLog(new MemoryDisk(newer), silent), {
    code: 'NEWER_FORMAT',
    message: /stamp.json has format 3/,
  });
});
