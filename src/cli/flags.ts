import { parseArgs } from 'node:util';
import { deployments, type TokenProfile } from '../chain/contracts/deployments.js';
import { BUILT_IN_PROFILES, readProfileFile } from '../config/profile-file.js';
import type { Setting, SettingName, Settings } from '../config/setting-table.js';
import { flagOf, settingNames, settingTable } from '../config/setting-table.js';
import { loadSettings, nearest, type ReadSettings, type ReadText } from '../config/settings.js';
import { readWalletKey } from '../config/wallet-key.js';
import { readTokenCaps } from '../quota/token-caps.js';
import { type CommandIo, UsageError } from './run.js';

/** Flags by name, without dashes: whether they take a value; of `alone`, what the flag says without `=value`. */
type KnownFlags = Readonly<Record<string, 'value' | 'switch' | { readonly alone: string }>>;

export interface ParsedWords {
  readonly values: ReadonlyMap<string, string>;
  /** Flags without a value that are there. */
  readonly switches: ReadonlySet<string>;
  readonly positionals: readonly string[];
}

/** Reads `--name value`, `--name=value`, switches and plain words. Throws a UsageError for anything unknown. */
export function parseFlags(words: readonly string[], known: KnownFlags): ParsedWords {
  const names = Object.keys(known);
  const options = Object.fromEntries(
    names.map((name) => [name, { type: known[name] === 'value' ? ('string' as const) : ('boolean' as const) }]),
  );
  const { tokens, positionals } = parseArgs({
    args: [...words],
    options,
    strict: false,
    tokens: true,
    allowPositionals: true,
  });
  const values = new Map<string, string>();
  const switches = new Set<string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const kind = Object.hasOwn(known, token.name) ? known[token.name] : undefined;
    if (kind === undefined) throw new UsageError(`unknown flag ${token.rawName}${hint(token.name, names)}`);
    if (kind === 'switch') {
      if (token.value !== undefined) throw new UsageError(`--${token.name} takes no value`);
      switches.add(token.name);
      continue;
    }
    if (typeof kind === 'object') {
      values.set(token.name, token.value ?? kind.alone);
      continue;
    }
    // A flag in the value's place means that the value was forgotten; `--name=--value` says that it was not.
    if (token.value === undefined || (!token.inlineValue && token.value.startsWith('--'))) {
      throw new UsageError(`--${token.name} needs a value`);
    }
    values.set(token.name, token.value);
  }
  return { values, switches, positionals };
}

function hint(written: string, names: readonly string[]): string {
  const meant = nearest(written, names);
  return meant === null ? '' : `: did you mean --${meant}?`;
}

const flagNames = settingNames.filter((name) => settingTable[name].flag);

/** The flags of these settings, and `--config`, `--help`. */
export function settingFlags(names: readonly SettingName[] = flagNames): KnownFlags {
  const flags = names.map((name) => {
    const { flagAlone }: Setting = settingTable[name];
    return [flagOf(name), flagAlone === null ? 'value' : { alone: flagAlone }] as const;
  });
  return { ...Object.fromEntries(flags), config: 'value', help: 'switch' };
}

/** The settings that these words, the environment and the settings file make. */
export async function settingsFrom({ values }: ParsedWords, io: CommandIo): Promise<ReadSettings> {
  const given = flagNames.flatMap((name) => {
    const value = values.get(flagOf(name));
    return value === undefined ? [] : [[name, value] as const];
  });
  const config = values.get('config');
  const flags = { settings: Object.fromEntries(given), ...(config === undefined ? {} : { config }) };
  return loadSettings(flags, io.environment, io.readText);
}

/** The settings of a command that takes flags alone; null: they are wrong, and what is wrong has been printed. */
export async function validSettings(command: string, parsed: ParsedWords, io: CommandIo): Promise<Settings | null> {
  const [extra] = parsed.positionals;
  if (extra !== undefined) throw new UsageError(`${command} takes flags alone, not ${extra}`);
  const result = await settingsFrom(parsed, io);
  const problems = await allProblems(result, io.readText);
  if (result.ok && problems.length === 0) return result.settings;
  printProblems(problems, io);
  return null;
}

export function printProblems(problems: readonly string[], io: CommandIo): void {
  for (const problem of problems) io.err(problem);
  io.err(problems.length === 1 ? '1 problem with the settings.' : `${problems.length} problems with the settings.`);
}

/** The part of a help text that lists these settings' flags. */
export function flagsHelp(names: readonly SettingName[] = flagNames): string {
  const rows = names.map((name) => {
    const { about, form, default: value } = settingTable[name];
    const shown = value === null ? '' : ` Default: ${String(value)}.`;
    return `  --${flagOf(name)}\n      ${about}\n      Takes ${form}.${shown}`;
  });
  return ['  --config\n      File of settings (JSON). Takes a path.', ...rows].join('\n');
}

/** Everything that is wrong with settings, for the profile too, and with the files that they name, one sentence each. */
export async function allProblems(read: ReadSettings, readText: ReadText): Promise<string[]> {
  if (read.ok) return problemsOfFiles(read.settings, readText);
  return [...read.problems, ...(await problemsOfFiles(read.valid, readText))];
}

/** Settings that are wrong themselves name no file. */
async function problemsOfFiles(settings: Partial<Settings>, readText: ReadText): Promise<string[]> {
  const { profile, walletKey = null, walletKeyFile = null, operatorTokensPerDay: caps = [] } = settings;
  const problems: string[] = [];
  if (profile !== undefined) {
    const file = BUILT_IN_PROFILES.includes(profile) ? null : await readProfileFile(profile, readText);
    if (file?.ok === false) problems.push(...file.problems);
    else if (caps.length > 0) {
      const tokens = file?.profile.tokens ?? (await builtInTokens(profile));
      problems.push(...readTokenCaps(caps, tokens).problems);
    }
  }
  try {
    await readWalletKey({ walletKey, walletKeyFile }, readText);
  } catch (error) {
    problems.push(`${(error as Error).message}.`);
  }
  return problems;
}

async function builtInTokens(profile: string): Promise<readonly Pick<TokenProfile, 'symbol' | 'decimals'>[]> {
  const deployment = deployments.find(({ name }) => name === profile);
  return deployment?.tokens ?? (await import('../chain/dev/contracts.js')).devTokens;
}
