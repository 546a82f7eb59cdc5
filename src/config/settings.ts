import type { TSchema } from 'typebox';
import { compile } from '../wire/validation.js';
import { nearest } from './nearest.js';
import {
  environmentNameOf,
  flagOf,
  type Setting,
  type SettingName,
  settingNames,
  type Settings,
  settingTable,
} from './setting-table.js';
import { whyNotJson } from './text-files.js';

/** Where settings come from. A flag goes before the environment, the environment before the file. */
export interface SettingSources {
  /** By setting name, as written on the command line. */
  readonly flags: Readonly<Partial<Record<SettingName, string>>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The settings file's text and its name, or null when there is none. */
  readonly file: { readonly name: string; readonly text: string } | null;
}

export type SettingOrigin = 'flag' | 'environment' | 'file' | 'default';

export type ReadSettings =
  | { readonly ok: true; readonly settings: Settings; readonly origins: Readonly<Record<SettingName, SettingOrigin>> }
  /** Everything that is wrong, one sentence each, with what to do about it; `valid`: the settings that are right. */
  | { readonly ok: false; readonly problems: readonly string[]; readonly valid: Partial<Settings> };

/** The variable that names the settings file; like `--config`, it cannot stand in the file itself. */
export const CONFIG_VARIABLE = 'QUOTEBOOK_CONFIG';

const checks = new Map(settingNames.map((name) => [name, compile(settingTable[name].schema as TSchema, 1)]));

/** Merges and checks all sources. Empty texts count as not set, as Docker Compose passes unset variables on. */
export function readSettings(sources: SettingSources): ReadSettings {
  const problems: string[] = [];
  const file = readFile(sources.file, problems);
  reportUnknownVariables(sources.environment, problems);
  const settings: Record<string, unknown> = {};
  const origins: Record<string, SettingOrigin> = {};
  const wrong = new Set<string>();
  for (const name of settingNames) {
    const entry: Setting = settingTable[name];
    const given = find(name, entry, sources, file);
    origins[name] = given?.origin ?? 'default';
    settings[name] = given?.value ?? entry.default;
    if (given === null || (checks.get(name)?.(given.value).ok === true && isUsable(entry, given.value))) continue;
    const shown = entry.secret === null ? ` cannot be ${shownValue(given.value)}` : ' has a wrong value';
    problems.push(`${name}${shown} (from ${given.place}): give ${entry.form}${inFile(entry, given)}.`);
    wrong.add(name);
  }
  if (settings.walletKey !== null && settings.walletKeyFile !== null) {
    problems.push('walletKey and walletKeyFile are both set: keep one of them.');
  }
  const { port, metricsPort, host, metricsHost } = settings;
  if (port === metricsPort && host === metricsHost && port !== 0 && !wrong.has('port')) {
    problems.push(`port and metricsPort are both ${String(port)} at ${String(host)}: give one of them another.`);
  }
  if (problems.length > 0) {
    const valid = Object.fromEntries(Object.entries(settings).filter(([name]) => !wrong.has(name)));
    return { ok: false, problems, valid };
  }
  return {
    ok: true,
    settings: settings as unknown as Settings,
    origins: origins as Record<SettingName, SettingOrigin>,
  };
}

interface Given {
  readonly value: unknown;
  readonly origin: SettingOrigin;
  readonly place: string;
}

function find(name: SettingName, entry: Setting, sources: SettingSources, file: Record<string, unknown>): Given | null {
  const flag = sources.flags[name];
  if (flag !== undefined) return { value: fromText(entry, flag), origin: 'flag', place: `--${flagOf(name)}` };
  const variable = environmentNameOf(name);
  const text = sources.environment[variable];
  if (text !== undefined && text !== '') {
    return { value: fromText(entry, text), origin: 'environment', place: variable };
  }
  const value = file[name];
  if (value === undefined || value === null) return null;
  return { value, origin: 'file', place: sources.file?.name ?? '' };
}

/** What the form leaves out, which is that of a text: a file says several as JSON does. */
function inFile({ schema }: Setting, { origin, value }: Given): string {
  const { type } = schema as { readonly type?: string };
  return origin === 'file' && type === 'array' && !Array.isArray(value) ? ', in the file as a JSON list' : '';
}

/** What has passed its schema, and is what the setting wants besides. */
function isUsable({ isRight }: Setting, value: unknown): boolean {
  return [value].flat().every((text) => isRight(String(text)));
}

/** What a text says, for a schema that wants a number or a list; a text that says neither is left for the check. */
function fromText({ schema }: Setting, text: string): unknown {
  const { type } = schema as { readonly type?: string };
  if (type === 'integer') return /^-?[0-9]{1,16}$/.test(text) ? Number(text) : text;
  if (type === 'array') return text.split(',').map((item) => item.trim());
  return text;
}

function readFile(file: SettingSources['file'], problems: string[]): Record<string, unknown> {
  if (file === null) return {};
  let content: unknown;
  try {
    content = JSON.parse(file.text);
  } catch (error) {
    problems.push(`${file.name} is not JSON (${whyNotJson(error as SyntaxError)}): correct it there.`);
    return {};
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    problems.push(`${file.name} is not a JSON object: write {"port": 8080} and so on.`);
    return {};
  }
  for (const name of Object.keys(content)) {
    if (!Object.hasOwn(settingTable, name)) {
      problems.push(`${file.name} sets \`${name}\`, which is no setting: ${suggestion(name, settingNames)}`);
    }
  }
  return content as Record<string, unknown>;
}

function reportUnknownVariables(environment: SettingSources['environment'], problems: string[]): void {
  const known = [CONFIG_VARIABLE, ...settingNames.map(environmentNameOf)];
  for (const variable of Object.keys(environment)) {
    if (!variable.startsWith('QUOTEBOOK_') || known.includes(variable)) continue;
    problems.push(`The environment sets ${variable}, which is no setting: ${suggestion(variable, known)}`);
  }
}

function suggestion(written: string, known: readonly string[]): string {
  const meant = nearest(written, known);
  return meant === null ? 'remove it (docs/reference/settings.md lists them all).' : `did you mean ${meant}?`;
}

function shownValue(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}
