import { settingNames, settingTable, type Setting, type SettingName, type Settings } from './setting-table.js';
import type { SettingOrigin } from './settings.js';

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
