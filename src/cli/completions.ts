import { parseFlags } from './flags.js';
import { type CliCommand, EXIT_OK, UsageError } from './run.js';

const help = `quotebook completions bash
quotebook completions zsh
quotebook completions fish

Prints a script with which a shell completes the commands, their actions and their flags:

  bash: quotebook completions bash > ~/.local/share/bash-completion/completions/quotebook
  zsh:  quotebook completions zsh > ~/.zfunc/_quotebook, with ~/.zfunc in fpath before compinit
  fish: quotebook completions fish > ~/.config/fish/completions/quotebook.fish`;

/** Words that may follow a command, as its help text has them. */
interface Completed {
  readonly name: string;
  readonly summary: string;
  readonly actions: readonly string[];
  readonly flags: readonly string[];
}

/** `commands`: all of the program, asked for when the command runs. */
export function completionsCommand(commands: () => readonly CliCommand[]): CliCommand {
  return {
    name: 'completions',
    summary: 'print a completion script for a shell',
    help,
    run(words, io) {
      const [shell = '', extra] = parseFlags(words, { help: 'switch' }).positionals;
      const write = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
      if (write === undefined || extra !== undefined) throw new UsageError('name bash, zsh or fish');
      io.out(write(commands().map(completed)));
      return Promise.resolve(EXIT_OK);
    },
  };
}

function completed({ name, summary, help: text }: CliCommand): Completed {
  const actions = [...text.matchAll(new RegExp(`^quotebook ${name} ([a-z][a-z-]+)`, 'gm'))];
  const flags = [...text.matchAll(/^ {2}(--[a-z][a-z-]*)$/gm)];
  const unique = (found: readonly RegExpMatchArray[]): string[] => [...new Set(found.map(([, word]) => word ?? ''))];
  return { name, summary, actions: unique(actions), flags: [...unique(flags), '--help'] };
}

const SHELLS: Readonly<Record<string, (commands: readonly Completed[]) => string>> = { bash, zsh, fish };

/** A word that begins with a dash is a flag; anything else that is no action is a file. */
function bash(commands: readonly Completed[]): string {
  const names = commands.map(({ name }) => name).join(' ');
  const cases = commands.map(
    ({ name, actions, flags }) => `    ${name}) words="${[...actions, ...flags].join(' ')}" ;;`,
  );
  return `_quotebook() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W "${names} --help --version" -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _quotebook quotebook`;
}

function zsh(commands: readonly Completed[]): string {
  const described = commands.map(({ name, summary }) => `    '${name}:${quoted(summary)}'`);
  const cases = commands.map(({ name, actions, flags }) => {
    const shown = actions.length === 0 ? '' : `compadd -- ${actions.join(' ')}; `;
    return `    ${name}) ${shown}compadd -- ${flags.join(' ')} ;;`;
  });
  return `#compdef quotebook
_quotebook() {
  local -a commands
  commands=(
${described.join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe 'command' commands
    return
  fi
  case "$words[2]" in
${cases.join('\n')}
  esac
  _files
}
compdef _quotebook quotebook`;
}

function fish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, summary, actions, flags }) => {
    const seen = `-n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c quotebook -n __fish_use_subcommand -f -a ${name} -d '${quoted(summary)}'`,
      ...actions.map((action) => `complete -c quotebook ${seen} -a ${action}`),
      ...flags.map((flag) => `complete -c quotebook ${seen} -l ${flag.slice(2)}`),
    ];
  });
  return lines.join('\n');
}

/** Inside single quotes; none of the three shells then reads anything else of it. */
function quoted(text: string): string {
  return text.replaceAll("'", '’').replaceAll(':', ',');
}
