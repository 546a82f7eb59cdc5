// Rejects phrases that take two readings, in comments, documents, texts and test titles. A phrase that is also plain
// English only warns. Runs in `npm run lint`:
//   node scripts/check-prose.mjs [--warnings] [FILE or FOLDER...]
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const CHECKED =
  /^(src|web|docs|test|bench|scripts|examples|clients|contracts|packages|deploy)\/.*\.(ts|mjs|md|html|py|sol)$|^[A-Z]+\.md$/;
/** This file and its test contain the phrases, and vendored texts are not ours to word. */
const EXEMPT = /^scripts\/check-prose\.mjs$|^test\/scripts\/check-prose\.test\.ts$|^test\/public-client\//;

/** Where a sentence begins: after a comment's or list item's mark, in a test's title, or behind a full stop. */
const SENTENCE = String.raw`(?:^[ \t]*(?:\/\/|\/?\*+|#+:?|[-*]|\|)?[ \t]*|[.:!?] |t\.test\(['"\x60])`;

/** Each with what to write instead. A space stands for any white space, line breaks and comment marks included. */
const REJECTED = [
  ['an actor that says it', String.raw`\b(?:is|are|was|were|be|been|being) told\b`],
  ['a noun: "any client", "the caller"', String.raw`\bwho(?:ever|soever)\b`],
  ['the subject first: "a second request joins the first"', String.raw`\bwho\b[^.\n]*\bjoins?\b`],
  ['"no one" or the plain negative', String.raw`\bnobody who\b`],
  ['"none"', String.raw`\bnone of them that\b`],
  ['"for example"', String.raw`\bsuch as are\b`],
  ['"the same"', String.raw`\bthe very same\b`],
  ['the result by its name', String.raw`\bwhat comes of it\b`],
  ['the subject first, not a relative clause', String.raw`${SENTENCE}(?:Who|Whom|Of which|Whose) [a-z]`, 'gm'],
].map(pattern);

/** Begins a comment, or a line of one. */
const COMMENT = String.raw`(?:\/\/|\/\*+|^[ \t]*\*+)`;
/** Files whose comments have none of these left, which elsewhere only warn. Texts for readers may begin so. */
const STRICT = /^src\//;
const FREE_RELATIVE = pattern([
  'the noun: "Levels that left the book"',
  String.raw`(?:${COMMENT}[ \t]*|(?<=${COMMENT}[^\n]*)[.:!?] )What [a-z]`,
  'gm',
]);

const DOUBTFUL = [
  ['"automatically", if that is meant', String.raw`\bby itself\b`],
  ['"does not exist" or "is absent"', String.raw`\bis none\b`, 'gm'],
  ['"completely" or "until it ends"', String.raw`\bto its end\b`],
  [
    'the subject first, not a relative clause',
    String.raw`${SENTENCE}What (?!(?:to|is|are|was|it|the|this|each|happens)\b)[a-z]+ [a-z]`,
    'gm',
  ],
].map(pattern);

const { values, positionals } = parseArgs({ options: { warnings: { type: 'boolean' } }, allowPositionals: true });
let rejected = 0;
let doubtful = 0;
for (const file of files(positionals)) {
  const text = readFileSync(file, 'utf8');
  rejected += report(file, text, STRICT.test(file) ? [...REJECTED, FREE_RELATIVE] : REJECTED, 'error');
  doubtful += report(file, text, DOUBTFUL, 'warning');
}
if (doubtful > 0) console.warn(`${doubtful} phrases to look at: --warnings lists them`);
if (rejected > 0) {
  console.error(`${rejected} phrases to replace: write plain sentences instead`);
  process.exitCode = 1;
}

function pattern([instead, source, flags = 'gim']) {
  const gap = String.raw`(?: |[ \t]*\n[ \t]*(?:\/\/|\*|#:?|>)?[ \t]*)`;
  return [instead, new RegExp(source.replaceAll(/(?<!\[)(?<!\]) (?!\\)/g, gap), flags)];
}

function files(paths) {
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '--', ...paths];
  const names = execFileSync('git', listed, { encoding: 'utf8', maxBuffer: 64 << 20 }).split('\n');
  return names.filter((name) => CHECKED.test(name) && !EXEMPT.test(name) && existsSync(name));
}

function report(file, text, phrases, level) {
  let count = 0;
  for (const [instead, regExp] of phrases) {
    for (const { 0: phrase, index } of text.matchAll(regExp)) {
      count += 1;
      const start = index + phrase.search(/\S/);
      const line = text.slice(0, start).split('\n').length;
      const shown = phrase.trim().replaceAll(/\s+/g, ' ');
      const message = `${file}:${line} ${level}: "${shown}": write ${instead}`;
      if (level === 'error') console.error(message);
      else if (values.warnings) console.warn(message);
    }
  }
  return count;
}
