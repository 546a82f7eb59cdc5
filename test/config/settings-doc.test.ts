import t from 'tap';
import { environmentNameOf, flagOf, type Setting, settingNames, settingTable } from '../../src/config/setting-table.js';
import { readDocument } from '../app/read-document.js';

function row(name: keyof typeof settingTable): string {
  const { form, about, flag }: Setting = settingTable[name];
  const value = settingTable[name].default;
  const cells = [
    `\`${name}\``,
    flag ? `\`--${flagOf(name)}\`` : '-',
    `\`${environmentNameOf(name)}\``,
    value === null || (Array.isArray(value) && value.length === 0) ? '-' : `\`${String(value)}\``,
    form,
    about,
  ];
  return `| ${cells.join(' | ')} |`;
}

t.test('docs/reference/settings.md lists every setting as it is, and no other', async (t) => {
  const text = readDocument('docs/reference/settings.md');
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  t.strictSame(rows, settingNames.map(row));
});
