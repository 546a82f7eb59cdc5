import { type BackupContext, backUp, checkUpgrade, restoreBackup } from '../app/backup.js';
import { explainFileError } from '../config/settings.js';
import { systemClock, systemRandom } from '../system/clock.js';
import { flagsHelp, type ParsedWords, parseFlags, settingFlags, settingsFrom, printProblems } from './flags.js';
import {
  type CliCommand,
  type CommandIo,
  EXIT_FAILED,
  EXIT_OK,
  EXIT_USAGE,
  progressOf,
  toIo,
  UsageError,
} from './run.js';

const DIRECTORY_SETTINGS = ['dataDir'] as const;

const backupHelp = `quotebook backup TARGET [FLAGS]

Copies the data directory into TARGET, an empty directory or one that is not there, also while the service runs: the
keys, every profile's log, and the files beside it. The copy of a log is its state at one moment. It is read back, and its
state hash compared with that of the original at the same event. TARGET is whole once it has backup.json.

${flagsHelp(DIRECTORY_SETTINGS)}`;

const restoreHelp = `quotebook restore BACKUP [FLAGS]

Copies a backup into the data directory, which has to be empty or not there. Every file is compared with its checksum,
and every log read back and compared with the backup's state hash. Each log gets a new epoch, so clients take a snapshot.
Run it as the service's user, while the service does not run.

${flagsHelp(DIRECTORY_SETTINGS)}`;

const upgradeHelp = `quotebook upgrade check [--json] [FLAGS]

Says whether this version can go on with the data directory, or with a backup that --data-dir names: the formats of all
files, then every log is replayed and its state hashes compared. Changes nothing. Exits with 1 if it cannot.
Run it with the new version before the upgrade, on a backup or while the service does not run.

  --json
      Print one line of JSON.
${flagsHelp(DIRECTORY_SETTINGS)}`;

export const backupCommand: CliCommand = {
  name: 'backup',
  summary: 'copy a data directory, also while the service runs',
  help: backupHelp,
  run: (words, io, version) =>
    withDirectory(words, io, async ({ positionals: [target, extra] }, dataDir) => {
      if (target === undefined || extra !== undefined) throw new UsageError('say `backup TARGET`');
      const { logs } = await backUp(dataDir, target, version, new Date(systemClock.wallMs()), contextOf(io));
      for (const line of logs.map(shownLog)) io.out(line);
      io.err(`${target} is whole.`);
      return EXIT_OK;
    }),
};

export const restoreCommand: CliCommand = {
  name: 'restore',
  summary: 'copy a backup into an empty data directory',
  help: restoreHelp,
  run: (words, io) =>
    withDirectory(words, io, async ({ positionals: [source, extra] }, dataDir) => {
      if (source === undefined || extra !== undefined) throw new UsageError('say `restore BACKUP`');
      const { logs, createdAt } = await restoreBackup(source, dataDir, systemRandom, contextOf(io));
      for (const line of logs.map(shownLog)) io.out(line);
      io.err(
        `${dataDir} has the state of ${createdAt}. API keys revoked since then are valid again: revoke them anew.`,
      );
      return EXIT_OK;
    }),
};

export const upgradeCommand: CliCommand = {
  name: 'upgrade',
  summary: 'check whether this version can read a data directory',
  help: upgradeHelp,
  run: (words, io) => {
    const check = async ({ positionals: [action, extra], switches }: ParsedWords, dataDir: string): Promise<number> => {
      if (action !== 'check' || extra !== undefined) throw new UsageError('say `upgrade check`');
      const { files, logs, problems, raised } = await checkUpgrade(dataDir, contextOf(io));
      if (switches.has('json')) io.out(JSON.stringify({ ok: problems.length === 0, files, logs, problems, raised }));
      else {
        for (const line of [...logs.map(shownLog), ...problems]) io.out(line);
        for (const change of raised) io.out(`A start with this version changes formats. ${change}.`);
        if (problems.length > 0) io.out('This version cannot go on with it.');
        else if (raised.length === 0) io.out('This version can go on with it, and writes no newer format.');
        else io.out('This version can go on with it. An older version then needs a backup from before.');
      }
      return problems.length === 0 ? EXIT_OK : EXIT_FAILED;
    };
    return withDirectory(words, io, check, { json: 'switch' });
  },
};

interface LogState {
  readonly name: string;
  readonly lastIndex: number;
  readonly lastSeq: number;
  readonly stateHash: string;
}

function shownLog({ name, lastIndex, lastSeq, stateHash }: LogState): string {
  return `${name} record ${lastIndex} event ${lastSeq} stateHash ${stateHash}`;
}

function contextOf(io: CommandIo): BackupContext {
  return { logger: { ...toIo(io), info: () => undefined }, progress: progressOf(io) };
}

/** Runs with the data directory that the flags and settings name. `more`: flags of this command alone. */
async function withDirectory(
  words: readonly string[],
  io: CommandIo,
  run: (parsed: ParsedWords, dataDir: string) => Promise<number>,
  more: { readonly json?: 'switch' } = {},
): Promise<number> {
  const parsed = parseFlags(words, { ...settingFlags(DIRECTORY_SETTINGS), ...more });
  const result = await settingsFrom(parsed, io);
  if (!result.ok) {
    printProblems(result.problems, io);
    return EXIT_USAGE;
  }
  const { dataDir } = result.settings;
  try {
    return await run(parsed, dataDir);
  } catch (error) {
    throw explainFileError(error, { dataDir });
  }
}
