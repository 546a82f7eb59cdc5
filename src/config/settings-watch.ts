import type { CancelTimer, Clock } from '../engine/ports.js';
import { settingNames, type SettingName, type Settings } from './setting-table.js';
import type { ReadSettings } from './settings.js';

export interface SettingsWatchOptions {
  readonly clock: Pick<Clock, 'after'>;
  /** Between looks. */
  readonly periodMs: number;
  /** Reads all sources anew; of them only the settings file changes while a process lives. */
  readonly reread: () => Promise<ReadSettings>;
  /** All settings as they are now, and which of them are others than before. */
  readonly onChange: (settings: Settings, changed: readonly SettingName[]) => void;
  /** What is wrong with them now: those before stay in force. Told once, not at each look. */
  readonly onProblems: (problems: readonly string[]) => void;
}

/** Looks every so often whether settings were changed. Returns how to stop it. */
export function watchSettings(first: Settings, options: SettingsWatchOptions): () => void {
  const { clock, periodMs, reread, onChange, onProblems } = options;
  let settings = first;
  let toldProblems = '';
  let isStopped = false;
  let cancel: CancelTimer = () => undefined;

  async function look(): Promise<void> {
    const read = await reread();
    if (isStopped) return;
    if (read.ok) adopt(read.settings);
    else if (read.problems.join() !== toldProblems) {
      toldProblems = read.problems.join();
      onProblems(read.problems);
    }
    again();
  }

  function adopt(now: Settings): void {
    toldProblems = '';
    const changed = settingNames.filter((name) => JSON.stringify(now[name]) !== JSON.stringify(settings[name]));
    settings = now;
    if (changed.length > 0) onChange(now, changed);
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
