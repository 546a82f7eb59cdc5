import type { Settings } from '../config/setting-table.js';
import { EXIT_OK, EXIT_USAGE, UsageError, type Command } from './command.js';
import { parseFlags } from './flags.js';
import { flagsHelp, settingFlags, settingsFrom, tellProblems } from './setting-flags.js';

/** `runService` resolves when the service has stopped. */
export function serveCommand(runService: (settings: Settings) => Promise<void>): Command {
  const help = `quotebook serve [FLAGS]

Serves one deployment of the protocol until it is stopped by SIGINT or SIGTERM.

${flagsHelp()}

Each flag is also an environment variable and a key of the settings file: see docs/settings.md.`;
  return {
    name: 'serve',
    summary: 'serve the orderbook',
    help,
    async run(words, io) {
      const parsed = parseFlags(words, settingFlags());
      const [extra] = parsed.positionals;
      if (extra !== undefined) throw new UsageError(`serve takes flags alone, not ${extra}`);
      const result = await settingsFrom(parsed, io);
      if (!result.ok) {
        tellProblems(result.problems, io);
        return EXIT_USAGE;
      }
      await runService(result.settings);
      return EXIT_OK;
    },
  };
}
