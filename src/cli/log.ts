import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Disk } from '../persistence/disk/disk.js';
import { nodeDiskAt } from '../persistence/disk/node-disk.js';
import { logBytes, meteredDisk } from '../persistence/recovery/log-backup.js';
import {
  dumpLog,
  type LogReport,
  repairLog,
  restoreLog,
  type RestoreSource,
  verifyLog,
} from '../persistence/recovery/log-tools.js';
import { systemRandom } from '../system/clock.js';
import { parseFlags } from './flags.js';
import { type CliCommand, type CommandIo, EXIT_OK, progressOf, toIo, UsageError } from './run.js';

const help = `quotebook log verify DIR
quotebook log dump DIR [--after RECORD]
quotebook log repair DIR
quotebook log restore DIR --restore-from SOURCE

Reads a log without a running server. DIR is the directory with the segments, such as data/local.

verify: checks every byte, replays the log, compares its state hashes, and says what is there. Changes nothing.
dump:   prints the records, one line of JSON each. Where the log is damaged it ends, and names the place.
repair: does what a start would do: cuts off a torn tail and puts broken snapshots aside, both kept as *.broken.
        Where the log has lost its last records, it continues with what is left, under a new epoch: clients take a
        snapshot again. The newest snapshot gives the state where it is newer than the log.
        Damage elsewhere is named and left as it is: see restore, or move the directory away, and the chains give the
        book back as far as they are read.
restore: begins the log anew with the state of SOURCE: another directory with a log of the same chains (a copy, or
        another server's), or a snapshot file of this log. A start then reads from the chains what came after it. The
        damaged files are kept as *.broken.

  --after
      dump begins after this record. Default: 0.
  --restore-from
      What restore takes the state from.`;

const USAGE = 'say `log verify DIR`, `log dump DIR`, `log repair DIR` or `log restore DIR --restore-from SOURCE`';

export const logCommand: CliCommand = {
  name: 'log',
  summary: 'dump, verify, repair or restore a log',
  help,
  async run(words, io) {
    const { positionals, values } = parseFlags(words, { after: 'value', 'restore-from': 'value', help: 'switch' });
    const [action, directory, extra] = positionals;
    if (directory === undefined || extra !== undefined) throw new UsageError(USAGE);
    const after = values.get('after') ?? '0';
    if (!/^[0-9]{1,15}$/.test(after)) throw new UsageError('--after is the number of a record');
    if (action !== 'dump' && values.has('after')) throw new UsageError('--after belongs to `log dump`');
    const from = values.get('restore-from');
    if ((action === 'restore') !== (from !== undefined)) throw new UsageError('`log restore` takes --restore-from');
    const disk = nodeDiskAt(directory);
    switch (action) {
      case 'verify':
        report(await verify(disk, io), io);
        return EXIT_OK;
      case 'repair':
        report(await repairLog(disk, systemRandom, toIo(io)), io);
        return EXIT_OK;
      case 'restore':
        report(await restoreLog(disk, await sourceAt(from ?? ''), systemRandom, toIo(io)), io);
        return EXIT_OK;
      case 'dump':
        for await (const line of dumpLog(disk, Number(after))) io.out(line);
        return EXIT_OK;
      default:
        throw new UsageError(USAGE);
    }
  },
};

async function verify(disk: Disk, io: CommandIo): Promise<LogReport> {
  const progress = progressOf(io);
  progress.begin('verifying', (await logBytes(disk)).verify);
  const metered = meteredDisk(disk, (bytes) => progress.advance(bytes));
  return verifyLog(metered, toIo(io)).finally(() => progress.end());
}

async function sourceAt(file: string): Promise<RestoreSource> {
  const { dir, base } = path.parse(path.resolve(file));
  if ((await stat(file)).isDirectory()) return { type: 'LOG', disk: nodeDiskAt(file) };
  return { type: 'SNAPSHOT', disk: nodeDiskAt(dir), name: base };
}

function report(found: LogReport, io: CommandIo): void {
  for (const [name, value] of Object.entries(found)) io.out(`${name} ${String(value)}`);
}
