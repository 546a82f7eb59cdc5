import type { CancelTimer, Clock } from '../engine/ports.js';
import { type Setting, type SettingName, settingNames, type Settings, settingTable } from './setting-table.js';
import type { ReadSettings, SettingOrigin } from './settings.js';

export interface Changes {
  /** Others than at the look before. */
  readonly changed: readonly SettingName[];
  /** Others than at the start. */
  readonly sinceStart: readonly SettingName[];
}

export interface SettingsWatchOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Between looks. */
  readonly periodMs: number;
  /** Reads all sources anew; of them only the settings file changes while a process lives. */
  readonly reread: () => Promise<ReadSettings>;
  /** All settings as they are now, and which of them are others. */
  readonly onChange: (settings: Settings, changes: Changes) => void;
  /** Problems of the new settings: the previous ones stay in force. Reported once, not at each check. */
  readonly onProblems: (problems: readonly string[]) => void;
}

/** Looks every so often whether settings were changed. Returns how to stop it. */
export function watchSettings(first: Settings, options: SettingsWatchOptions): () => void {
  const { clock, periodMs, reread, onChange, onProblems } = options;
  let settings = first;
  let reportedProblems = '';
  let isStopped = false;
  let cancel: CancelTimer = () => undefined;

  async function look(): Promise<void> {
    const read = await reread();
    if (isStopped) return;
    if (read.ok) adopt(read.settings);
    else if (read.problems.join() !== reportedProblems) {
      reportedProblems = read.problems.join();
      onProblems(read.problems);
    }
    again();
  }

  function adopt(now: Settings): void {
    reportedProblems = '';
    const changed = differing(now, settings);
    settings = now;
    if (changed.length > 0) onChange(now, { changed, sinceStart: differing(now, first) });
  }

  function again(): void {
    cancel = clock.after(periodMs, () => void look());
  }

  again();
  return () => {
    isStopped = true;
    cancel();
  };
}

function differing(one: Settings, other: Settings): SettingName[] {
  return settingNames.filter((name) => JSON.stringify(one[name]) !== JSON.stringify(other[name]));
}

const MASK = '***';

/** One line a setting: name, value with secrets masked, and where it comes from. */
export function showSettings(settings: Settings, origins: Readonly<Record<SettingName, SettingOrigin>>): string {
  const rows = settingNames.map((name) => [name, masked(settingTable[name], settings[name]), origins[name]]);
  const widths = [0, 1].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')).join('\n');
}

function masked({ secret }: Setting, value: string | number | readonly string[] | null): string {
  if (value === null) return '-';
  if (secret === 'all') return MASK;
  const items = typeof value === 'object' ? value : [String(value)];
  return items.map((item) => (secret === 'url' ? maskedUrl(item) : item)).join(',');
}

/** The host is enough to recognise an endpoint by; user names, paths and queries hold keys. */
function maskedUrl(text: string): string {
  const url = new URL(text);
  const isPlain = url.pathname === '/' && url.search === '' && url.username === '' && url.password === '';
  return isPlain ? text : `${url.protocol}//${url.host}/${MASK}`;
}
