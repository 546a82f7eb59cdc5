import { showSettings } from '../config/settings-watch.js';
import { type Command, EXIT_OK, EXIT_USAGE, UsageError } from './command.js';
import { allProblems } from './file-problems.js';
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
    const problems = await allProblems(result, io.readText);
    if (result.ok && action === 'print') io.out(showSettings(result.settings, result.origins));
    if (problems.length > 0) {
      tellProblems(problems, io);
      return EXIT_USAGE;
    }
    if (action === 'check') io.out('The settings are valid.');
    return EXIT_OK;
  },
};
