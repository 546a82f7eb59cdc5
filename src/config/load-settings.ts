import type { SettingName } from './setting-table.js';
import { CONFIG_VARIABLE, readSettings, type ReadSettings } from './settings.js';
import { whyUnreadable, type ReadText } from './text-files.js';

/** What the command line says of settings: `config` is the path of the settings file. */
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
