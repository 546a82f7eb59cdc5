import { nodeDiskAt } from '../persistence/node-disk.js';
import { dumpLog, repairLog, verifyLog, type LogReport } from '../persistence/inspect.js';
import type { Logger } from '../persistence/logger.js';
import { EXIT_OK, UsageError, type Command, type CommandIo } from './command.js';
import { parseFlags } from './flags.js';

const help = `quotebook log verify DIR
quotebook log dump DIR [--after RECORD]
quotebook log repair DIR

Reads a log without a running server. DIR is the directory with the segments, such as data/local.

verify: checks every byte, replays the log, compares its state hashes, and says what is there. Changes nothing.
dump:   prints the records, one line of JSON each. Where the log is damaged it ends, and names the place.
repair: does what a start would do: cuts off a torn tail and puts broken snapshots aside, both kept as *.broken.
        Damage elsewhere is named and left as it is: move the directory away, and the chains give the book back.

  --after
      dump begins after this record. Default: 0.`;

export const logCommand: Command = {
  name: 'log',
  summary: 'dump, verify or repair a log',
  help,
  async run(words, io) {
    const { positionals, values } = parseFlags(words, { after: 'value', help: 'switch' });
    const [action, directory, extra] = positionals;
    if (directory === undefined || extra !== undefined) {
      throw new UsageError('say `log verify DIR`, `log dump DIR` or `log repair DIR`');
    }
    const after = values.get('after') ?? '0';
    if (!/^[0-9]{1,15}$/.test(after)) throw new UsageError('--after is the number of a record');
    if (action !== 'dump' && values.has('after')) throw new UsageError('--after belongs to `log dump`');
    const disk = nodeDiskAt(directory);
    switch (action) {
      case 'verify':
        report(await verifyLog(disk, toIo(io)), io);
        return EXIT_OK;
      case 'repair':
        report(await repairLog(disk, toIo(io)), io);
        return EXIT_OK;
      case 'dump':
        for await (const line of dumpLog(disk, Number(after))) io.out(line);
        return EXIT_OK;
      default:
        throw new UsageError('say `log verify DIR`, `log dump DIR` or `log repair DIR`');
    }
  },
};

function report(found: LogReport, io: CommandIo): void {
  for (const [name, value] of Object.entries(found)) io.out(`${name} ${String(value)}`);
}

/** What the persistence tells people while it reads. */
function toIo(io: CommandIo): Logger {
  const tell = (details: object, message: string): void => io.err(`${message} ${JSON.stringify(details)}`);
  return { info: tell, warn: tell, error: tell };
}
