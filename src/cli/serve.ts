import type { Settings } from '../config/setting-table.js';
import { showSettings } from '../config/settings-watch.js';
import type { ReadSettings } from '../config/settings.js';
import {
  allProblems,
  flagsHelp,
  parseFlags,
  printProblems,
  settingFlags,
  settingsFrom,
  validSettings,
} from './flags.js';
import { type CliCommand, EXIT_OK, EXIT_USAGE, UsageError } from './run.js';

/** Resolves when the service has stopped. `reread` gives what the settings are by then: their file may be changed. */
export type RunService = (settings: Settings, reread: () => Promise<ReadSettings>) => Promise<void>;

export function serveCommand(runService: RunService): CliCommand {
  const help = `quotebook serve [FLAGS]

Serves one deployment of the protocol until it is stopped by SIGINT or SIGTERM.

${flagsHelp()}

Each flag is also an environment variable and a key of the settings file: see docs/reference/settings.md. The quotas of the
tiers are taken over from the settings file while the service runs.`;
  return {
    name: 'serve',
    summary: 'serve the orderbook',
    help,
    async run(words, io) {
      const parsed = parseFlags(words, settingFlags());
      const settings = await validSettings('serve', parsed, io);
      if (settings === null) return EXIT_USAGE;
      await runService(settings, () => settingsFrom(parsed, io));
      return EXIT_OK;
    },
  };
}

const help = `quotebook config check [FLAGS]
quotebook config print [FLAGS]

check: says everything that is wrong with the settings and the files that they name, or that nothing is.
print: shows each setting, with secrets masked, and where it comes from.

${flagsHelp()}`;

export const configCommand: CliCommand = {
  name: 'config',
  summary: 'check or print the settings',
  help,
  async run(words, io) {
    const parsed = parseFlags(words, settingFlags());
    const [action, extra] = parsed.positionals;
    if ((action !== 'check' && action !== 'print') || extra !== undefined) {
      throw new UsageError('say `config check` or `config print`');
    }
    const result = await settingsFrom(parsed, io);
    const problems = await allProblems(result, io.readText);
    if (result.ok && action === 'print') io.out(showSettings(result.settings, result.origins));
    if (problems.length > 0) {
      printProblems(problems, io);
      return EXIT_USAGE;
    }
    if (action === 'check') io.out('The settings are valid.');
    return EXIT_OK;
  },
};
