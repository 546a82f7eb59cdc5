import { flagOf, type SettingName, settingNames, settingTable } from '../config/setting-table.js';
import { loadSettings, type ReadSettings } from '../config/settings.js';
import type { CommandIo } from './command.js';
import type { KnownFlags, ParsedWords } from './flags.js';

const flagNames = settingNames.filter((name) => settingTable[name].flag);

/** The flags of these settings, and `--config`, `--help`. */
export function settingFlags(names: readonly SettingName[] = flagNames): KnownFlags {
  const flags = names.map((name) => [flagOf(name), 'value'] as const);
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

export function tellProblems(problems: readonly string[], io: CommandIo): void {
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
