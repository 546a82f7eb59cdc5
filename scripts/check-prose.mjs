// Rejects phrases that take two readings, in comments, documents, texts and test titles. A phrase that is also plain
// English only warns. Runs in `npm run lint`:
//   node scripts/check-prose.mjs [FILE...]
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const CHECKED =
  /^(src|web|docs|test|bench|scripts|examples|clients)\/.*\.(ts|mjs|md|html|py)$|^(README|CHANGELOG|CONTRIBUTING)\.md$/;
/** This file lists the phrases, and vendored texts are not ours to word. */
const EXEMPT = /^scripts\/check-prose\.mjs$|^test\/public-client\//;

/** Where a sentence begins: after a comment's or list item's mark, in a test's title, or behind a full stop. */
const SENTENCE = String.raw`(?:^\s*(?:\/\/|\/?\*+|#+|[-*]|\|)?\s*|[.:!?] |t\.test\(['"\x60])`;

const REJECTED = [
  ['an actor that says it', /\b(?:is|are|was|were|be|been|being) told\b/i],
  ['a noun: "any client", "the caller"', /\bwho(?:ever|soever)\b/i],
  ['the subject first: "a second request joins the first"', /\bwho\b[^.]*\bjoins?\b/i],
  ['"no one" or the plain negative', /\bnobody who\b/i],
  ['"none"', /\bnone of them that\b/i],
  ['"for example"', /\bsuch as are\b/i],
  ['"the same"', /\bthe very same\b/i],
  ['the result by its name', /\bwhat comes of it\b/i],
  ['the subject first, not a relative clause', new RegExp(`${SENTENCE}(?:Who|Whom|Of which|Whose) [a-z]`)],
];

const DOUBTFUL = [
  ['"automatically", if that is meant', /\bby itself\b/i],
  ['"does not exist" or "is absent"', /\bis none\b/i],
  ['"completely" or "until it ends"', /\bto its end\b/i],
  [
    'the subject first, not a relative clause',
    new RegExp(`${SENTENCE}What (?!(?:to|is|are|was|it|the|this|each|happens)\\b)[a-z]+ [a-z]`),
  ],
];

const files = process.argv.length > 2 ? process.argv.slice(2) : trackedFiles();
let rejected = 0;
let doubtful = 0;
for (const file of files.filter((name) => CHECKED.test(name) && !EXEMPT.test(name))) {
  for (const [index, line] of readFileSync(file, 'utf8').split('\n').entries()) {
    rejected += report(file, index + 1, line, REJECTED, 'error');
    doubtful += report(file, index + 1, line, DOUBTFUL, 'warning');
  }
}
if (doubtful > 0) console.warn(`${doubtful} phrases to look at`);
if (rejected > 0) {
  console.error(`${rejected} phrases to replace: write plain sentences instead`);
  process.exitCode = 1;
}

function trackedFiles() {
  const listed = ['ls-files', '--cached', '--others', '--exclude-standard'];
  return execFileSync('git', listed, { encoding: 'utf8' }).split('\n');
}

function report(file, line, text, phrases, level) {
  const found = phrases.filter(([, pattern]) => pattern.test(text));
  for (const [instead, pattern] of found) {
    const [phrase] = pattern.exec(text);
    const say = `${file}:${line} ${level}: "${phrase.trim()}": write ${instead}`;
    if (level === 'error') console.error(say);
    else if (process.env.QUOTEBOOK_PROSE_WARNINGS) console.warn(say);
  }
  return found.length;
}
