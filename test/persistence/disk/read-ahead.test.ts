import t from 'tap';
import type { Disk, DiskFile, OpenMode } from '../../../src/persistence/disk/disk.js';
import { readAhead } from '../../../src/persistence/disk/read-ahead.js';
import { MemoryDisk } from '../memory-disk.js';

const files = new Map([
  ['first', Buffer.alloc(3000, 1)],
  ['second', Buffer.alloc(10, 2)],
  ['third', Buffer.alloc(5000, 3)],
  ['fourth', Buffer.alloc(0)],
]);

async function read(disk: Disk, names: readonly string[]): Promise<Buffer[]> {
  const contents: Buffer[] = [];
  for await (const content of readAhead(disk, names)) contents.push(Buffer.from(content));
  return contents;
}

t.test('each file comes whole and in order, whatever lay in the memory before', async (t) => {
  t.strictSame(await read(new MemoryDisk(files), [...files.keys()]), [...files.values()]);
  t.strictSame(await read(new MemoryDisk(files), []), []);
});

t.test('a file that cannot be read rejects in its turn, not before', async (t) => {
  const seen: string[] = [];
  const names = ['first', 'second', 'missing', 'third'];
  const reading = (async () => {
    for await (const content of readAhead(new MemoryDisk(files), names)) seen.push(`${content.length}`);
  })();
  await t.rejects(reading, { code: 'ENOENT' });
  t.strictSame(seen, ['3000', '10']);
});

/** Counts the files that are open. */
class CountingDisk extends MemoryDisk {
  opened = 0;

  override async open(name: string, mode: OpenMode): Promise<DiskFile> {
    const file = await super.open(name, mode);
    this.opened += 1;
    const close = (): Promise<void> => {
      this.opened -= 1;
      return file.close();
    };
    return {
      name,
      write: (bytes, position) => file.write(bytes, position),
      read: (into, position) => file.read(into, position),
      size: () => file.size(),
      sync: () => file.sync(),
      close,
    };
  }
}

t.test('who stops early leaves nothing open', async (t) => {
  const disk = new CountingDisk(files);
  for await (const content of readAhead(disk, [...files.keys()])) {
    if (content.length === 10) break;
  }
  t.equal(disk.opened, 0);
});
