import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { isUnused } from '../src/persistence/format/frame.js';
import { dumpLog } from '../src/persistence/recovery/log-tools.js';
import { makeGoldenLog } from '../test/persistence/golden-log.js';
import { MemoryDisk } from '../test/persistence/memory-disk.js';

/**
 * Writes a log of the present format under test/persistence/golden/FORMAT, with what a reader has to make of it. Run it
 * once for each new format: files that are there are never written again, since they stand for the logs that people
 * have.
 */
const [format] = process.argv.slice(2);
if (format === undefined) throw new Error('say which format: node dist/scripts/make-golden-log.js 1');
const directory = fileURLToPath(new URL(`../../test/persistence/golden/${format}/`, import.meta.url));
mkdirSync(directory, { recursive: true });

const { files, expected } = await makeGoldenLog();
const lines: string[] = [];
for await (const line of dumpLog(new MemoryDisk(files), 0)) lines.push(line);
const all = [
  ...[...files].filter(([name, bytes]) => name !== 'lock' && (bytes.length === 0 || !isUnused(bytes))),
  ['expected.json', `${JSON.stringify(expected, null, 2)}\n`],
  ['records.jsonl', `${lines.join('\n')}\n`],
] as const;
for (const [name, content] of all) writeFileSync(directory + name, content, { flag: 'wx' });
console.log(`${all.length} files in test/persistence/golden/${format}`);
