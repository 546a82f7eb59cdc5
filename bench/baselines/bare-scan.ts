import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { crc32 } from 'node:zlib';

/** CRC, length, type: docs/reference/log-format.md. */
const HEAD_BYTES = 12;
const LENGTH_AT = 4;
const RECORD_TYPE = 2;
/** Space that was never written holds the byte a5. */
const UNUSED = 0xa5a5a5a5;

/** Reads the segments of a log and checks each frame's CRC, and nothing else. Returns the records that it passed. */
export async function bareScan(directory: string): Promise<number> {
  let records = 0;
  const names = (await readdir(directory)).filter((name) => name.endsWith('.log')).sort();
  for (const name of names) {
    const bytes = await readFile(path.join(directory, name));
    for (let at = 0; at + HEAD_BYTES <= bytes.length;) {
      const length = bytes.readUInt32LE(at + LENGTH_AT);
      if (length === UNUSED) break;
      const end = at + HEAD_BYTES + length;
      if (crc32(bytes.subarray(at + LENGTH_AT, end)) !== bytes.readUInt32LE(at))
        throw new Error(`A wrong CRC in ${name}`);
      if (bytes.readUInt32LE(at + 8) === RECORD_TYPE) records += 1;
      at = end;
    }
  }
  return records;
}
