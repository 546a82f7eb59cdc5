import t from 'tap';
import { segmentBytesFor } from '../../../src/persistence/format/file-names.js';
import { MemoryDisk } from '../memory-disk.js';

const MIB = 1 << 20;

/** How long segments of 32 MiB are on a volume of that size. */
async function bytesOn(totalBytes: number): Promise<number> {
  const disk = new MemoryDisk([]);
  disk.space = async () => ({ freeBytes: totalBytes, totalBytes });
  return segmentBytesFor(disk, 32 * MIB);
}

t.test('on a small volume segments are shorter: a thirty-second of it, and never less than a MiB', async (t) => {
  const sizes = await Promise.all([8, 64, 320, 1024, 1 << 20].map((mebibytes) => bytesOn(mebibytes * MIB)));
  t.strictSame(
    sizes.map((bytes) => bytes / MIB),
    [1, 2, 10, 32, 32],
  );
});
