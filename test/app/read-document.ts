import { readFileSync } from 'node:fs';

/**
 * A Markdown file of the repository without its layout: cells of tables without padding (`| a | b |`), each paragraph
 * and each list item on one line. Code blocks stay as they are. Tests compare tables and sentences with the sources,
 * and the formatter may wrap and pad both.
 */
export function readDocument(file: string): string {
  const lines = readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8').split('\n');
  const plain: string[] = [];
  let isCode = false;
  let canContinue = false;
  for (const line of lines) {
    const isFence = line.startsWith('```');
    if (isFence) isCode = !isCode;
    const isIndentedCode = line.startsWith('    ') && !canContinue;
    if (isFence || isCode || isIndentedCode || line.trim() === '' || line.startsWith('#')) {
      plain.push(line);
      canContinue = false;
    } else if (line.startsWith('|')) {
      plain.push(withoutPadding(line));
      canContinue = false;
    } else if (canContinue && !/^\s*(?:[-*]|\d+\.) /.test(line)) {
      plain.push(`${plain.pop() ?? ''} ${line.trim()}`);
    } else {
      plain.push(line);
      canContinue = true;
    }
  }
  return plain.join('\n');
}

/** A bar inside a cell is escaped. */
function withoutPadding(row: string): string {
  const cells = row
    .trim()
    .slice(1, -1)
    .split(/(?<!\\)\|/);
  if (cells.every((cell) => /^ *:?-+:? *$/.test(cell))) return `|${cells.map(() => '---').join('|')}|`;
  return `| ${cells.map((cell) => cell.trim()).join(' | ')} |`;
}
