import type { Settings } from '../config/setting-table.js';
import type { ReadSettings } from '../config/settings.js';
import { EXIT_OK, EXIT_USAGE, UsageError, type Command } from './command.js';
import { allProblems } from './file-problems.js';
import { parseFlags } from './flags.js';
import { flagsHelp, settingFlags, settingsFrom, tellProblems } from './setting-flags.js';

/** Resolves when the service has stopped. `reread` gives what the settings are by then: their file may be changed. */
export type RunService = (settings: Settings, reread: () => Promise<ReadSettings>) => Promise<void>;

export function serveCommand(runService: RunService): Command {
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
      const [extra] = parsed.positionals;
      if (extra !== undefined) throw new UsageError(`serve takes flags alone, not ${extra}`);
      const result = await settingsFrom(parsed, io);
      const problems = await allProblems(result, io.readText);
      if (!result.ok || problems.length > 0) {
        tellProblems(problems, io);
        return EXIT_USAGE;
      }
      await runService(result.settings, () => settingsFrom(parsed, io));
      return EXIT_OK;
    },
  };
}
