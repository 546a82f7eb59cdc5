import { BUILT_IN_PROFILES, readProfileFile } from '../config/profile-file.js';
import type { Settings } from '../config/setting-table.js';
import { showSettings } from '../config/show-settings.js';
import { readWalletKey } from '../config/wallet-key.js';
import { EXIT_OK, EXIT_USAGE, UsageError, type Command, type CommandIo } from './command.js';
import { parseFlags } from './flags.js';
import { flagsHelp, settingFlags, settingsFrom, tellProblems } from './setting-flags.js';

const help = `quotebook config check [FLAGS]
quotebook config print [FLAGS]

check: says everything that is wrong with the settings and the files that they name, or that nothing is.
print: shows each setting, with secrets masked, and where it comes from.

${flagsHelp()}`;

export const configCommand: Command = {
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
    const problems = result.ok ? await problemsOfFiles(result.settings, io) : result.problems;
    if (result.ok && action === 'print') io.out(showSettings(result.settings, result.origins));
    if (problems.length > 0) {
      tellProblems(problems, io);
      return EXIT_USAGE;
    }
    if (action === 'check') io.out('The settings are valid.');
    return EXIT_OK;
  },
};

/** What is wrong with the files that settings name. */
async function problemsOfFiles(settings: Settings, io: CommandIo): Promise<string[]> {
  const problems: string[] = [];
  if (!BUILT_IN_PROFILES.includes(settings.profile)) {
    const profile = await readProfileFile(settings.profile, io.readText);
    if (!profile.ok) problems.push(...profile.problems);
  }
  try {
    await readWalletKey(settings, io.readText);
  } catch (error) {
    problems.push(`${(error as Error).message}.`);
  }
  return problems;
}
