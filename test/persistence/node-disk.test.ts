import { readFile, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { platform } from 'node:process';
import { constants } from 'node:fs';
import t from 'tap';
import { readWhole } from '../../src/persistence/disk.js';
import { openNodeDisk } from '../../src/persistence/node-disk.js';

const DESCRIPTORS = '/proc/self/fd';

/** The flags that Linux holds for the descriptor of an open file (proc(5): octal, without those of its creation). */
async function flagsOf(path: string): Promise<number> {
  for (const descriptor of await readdir(DESCRIPTORS)) {
    const target = await readlink(join(DESCRIPTORS, descriptor)).catch(() => null);
    if (target !== path) continue;
    const info = await readFile(join('/proc/self/fdinfo', descriptor), 'utf8');
    return Number.parseInt(/^flags:\s+([0-7]+)$/m.exec(info)?.[1] ?? '', 8);
  }
  throw new Error(`${path} is not open`);
}

for (const [mode, isDurable] of [
  ['durable', true],
  ['write', false],
] as const) {
  t.test(`opened for '${mode}', a write is ${isDurable ? '' : 'not '}forced to the disk by the system`, async (t) => {
    const directory = t.testdir({ 'a.log': 'zeros' });
    const disk = await openNodeDisk(directory);
    const file = await disk.open('a.log', mode);
    t.teardown(() => file.close());
    await file.write(Buffer.from('ones'), 1);
    await file.sync();
    t.equal((await readWhole(disk, 'a.log')).toString(), 'zones');
    const path = join(directory, 'a.log');
    if (platform === 'linux') t.equal((await flagsOf(path)) & constants.O_DSYNC, isDurable ? constants.O_DSYNC : 0);
  });
}
