import path from 'node:path';
import type { TSchema } from 'typebox';
import { compile } from '../wire/validation.js';
import {
  environmentNameOf,
  flagOf,
  type Setting,
  type SettingName,
  settingNames,
  type Settings,
  settingTable,
} from './setting-table.js';

/** Content of the file at `path`; rejects when it cannot be read. */
export type ReadText = (path: string) => Promise<string>;

/** Why a file could not be read, in a few words: `ENOENT` and the like, without the call and the path again. */
export function whyUnreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return 'there is no such file';
  return code === 'EACCES' ? 'EACCES: this user has no permission to read it' : (code ?? message);
}

/**
 * Why a text is not JSON, without any of the text: V8 quotes ten characters on either side of the place, and what stands
 * there may be half a secret.
 */
export function jsonProblem({ message }: SyntaxError): string {
  return message.replace(/, (\.{3})?".*"(\.{3})? is not valid JSON$/s, '');
}

/** Meaning and remedy of a system error code for a file or directory that a setting names. */
const FILE_ERRORS: Readonly<Record<string, readonly [meaning: string, remedy: string]>> = {
  EEXIST: ['something that is no directory is in its place', 'Move that away'],
  ENOTDIR: ['a part of its path is no directory', 'Correct the path'],
  ENOENT: ['its parent does not exist or takes no files', 'Create the parent directory, or mount its volume'],
  EACCES: ['this user has no permission', 'Give this user the permission to read and write there'],
  EPERM: ['the system does not permit it', 'Give this user the permission to read and write there'],
  EROFS: ['the file system is read-only', 'Mount it writable'],
};

/**
 * An error of the system about a file that `dataDir` or `readyFile` names, as one line: the setting, what is wrong, and
 * what helps. Every other error stays as it is.
 */
export function explainFileError(
  error: unknown,
  { dataDir, readyFile = null }: { readonly dataDir: string; readonly readyFile?: string | null },
): unknown {
  const { code = '', path: named } = Object(error) as NodeJS.ErrnoException;
  const known = FILE_ERRORS[code];
  if (known === undefined || named === undefined) return error;
  const at = path.resolve(named);
  const isReadyFile = readyFile !== null && [readyFile, `${readyFile}.new`].some((file) => path.resolve(file) === at);
  // A directory above it may be what cannot be made.
  const isData = isBelow(at, path.resolve(dataDir)) || isBelow(path.resolve(dataDir), at);
  if (!isReadyFile && !isData) return error;
  // A file that is missing in the directory itself is no matter of where the directory is.
  if (code === 'ENOENT' && !isReadyFile && !isBelow(path.resolve(dataDir), at)) return error;
  const setting = isReadyFile ? 'readyFile' : 'dataDir';
  const [meaning, remedy] = known;
  const value = isReadyFile ? readyFile : dataDir;
  return new Error(
    `${setting} is ${value}: ${at} cannot be used, since ${meaning} (${code}). ` +
      `${remedy}, or set --${flagOf(setting)} (${environmentNameOf(setting)}) to another path.`,
  );
}

function isBelow(at: string, directory: string): boolean {
  return at === directory || at.startsWith(directory.endsWith(path.sep) ? directory : directory + path.sep);
}

/** Where settings come from. A flag goes before the environment, the environment before the file. */
export interface SettingSources {
  /** By setting name, as written on the command line. */
  readonly flags: Readonly<Partial<Record<SettingName, string>>>;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The settings file's text and its name, or null without one. */
  readonly file: { readonly name: string; readonly text: string } | null;
}

export type SettingOrigin = 'flag' | 'environment' | 'file' | 'default';

export type ReadSettings =
  | { readonly ok: true; readonly settings: Settings; readonly origins: Readonly<Record<SettingName, SettingOrigin>> }
  /** Everything that is wrong, one sentence each, with what to do about it; `valid`: the settings that are right. */
  | { readonly ok: false; readonly problems: readonly string[]; readonly valid: Partial<Settings> };

/** The variable that names the settings file; like `--config`, it cannot stand in the file itself. */
const CONFIG_VARIABLE = 'QUOTEBOOK_CONFIG';

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
  if (settings.profile === 'local' && (settings.role === 'engine' || settings.role === 'gateway')) {
    problems.push(
      `role is ${settings.role} and profile is local, whose chain is of one process alone: give another profile, ` +
        'or the file of one, that all members of the cluster share.',
    );
  }
  problems.push(...sharedPorts(settings, wrong));
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

/** Two listeners of one address cannot have one port, unless each is given a free one. */
function sharedPorts(settings: Readonly<Record<string, unknown>>, wrong: ReadonlySet<string>): string[] {
  const listeners = [
    ['port', settings.host],
    ['containerPort', settings.host],
    ['metricsPort', settings.metricsHost],
  ] as const;
  return listeners.flatMap(([name, host], index) => {
    const port = settings[name];
    if (typeof port !== 'number' || port === 0 || wrong.has(name)) return [];
    const same = listeners.slice(index + 1).filter(([other, at]) => settings[other] === port && at === host);
    return same.map(([other]) => `${name} and ${other} are both ${port} at ${String(host)}: give one of them another.`);
  });
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

/** Completes the form, which is that of a text: in a file, a list is JSON. */
function inFile({ schema }: Setting, { origin, value }: Given): string {
  const { type } = schema as { readonly type?: string };
  return origin === 'file' && type === 'array' && !Array.isArray(value) ? ', in the file as a JSON list' : '';
}

/** Whether a value that has passed its schema passes the setting's own check, too. */
function isUsable({ isRight }: Setting, value: unknown): boolean {
  return [value].flat().every((text) => isRight(String(text)));
}

/** Converts a text for a schema that wants a number or a list; the check rejects a text that is neither. */
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
    problems.push(`${file.name} is not JSON (${jsonProblem(error as SyntaxError)}): correct it there.`);
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

/** Settings of the command line: `config` is the path of the settings file. */
export interface SettingFlags {
  readonly config?: string;
  readonly settings: Readonly<Partial<Record<SettingName, string>>>;
}

/** Reads the settings file that the command line or the environment names, and merges all sources. */
export async function loadSettings(
  flags: SettingFlags,
  environment: Readonly<Record<string, string | undefined>>,
  readText: ReadText,
): Promise<ReadSettings> {
  const name = flags.config ?? (environment[CONFIG_VARIABLE] === '' ? undefined : environment[CONFIG_VARIABLE]);
  if (name === undefined) return readSettings({ flags: flags.settings, environment, file: null });
  let text: string;
  try {
    text = await readText(name);
  } catch (error) {
    const unread = `${name} cannot be read: ${whyUnreadable(error)}. Give the path of a settings file, or none.`;
    const rest = readSettings({ flags: flags.settings, environment, file: null });
    if (rest.ok) return { ok: false, problems: [unread], valid: rest.settings };
    return { ok: false, problems: [unread, ...rest.problems], valid: rest.valid };
  }
  return readSettings({ flags: flags.settings, environment, file: { name, text } });
}

/** The word of `known` that `written` is most likely meant to be, or null when none is near. */
export function nearest(written: string, known: readonly string[]): string | null {
  let best: string | null = null;
  let bestDistance = Math.max(2, Math.floor(written.length / 3)) + 1;
  for (const word of known) {
    const distance = editDistance(written.toLowerCase(), word.toLowerCase());
    if (distance < bestDistance) [best, bestDistance] = [word, distance];
  }
  return best;
}

/** Levenshtein's: the fewest letters to insert, remove or replace. */
function editDistance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
