// Adds up the assertions of TAP files, names those that failed, and prints the line that closes a check run; exits 1
// when one failed or is missing.
import { existsSync, readFileSync } from 'node:fs';
import { Parser } from 'tap-parser';

const count = { passed: 0, failed: 0, skipped: 0 };

function watch(parser, path) {
  /** How many had failed when the subtest began that the next assertion closes; null: it closes none. */
  let failedBefore = null;
  parser.on('child', (child) => {
    failedBefore = count.failed;
    watch(child, [...path, child.name]);
  });
  parser.on('assert', ({ ok, skip, name, diag }) => {
    // A subtest's own line repeats what was counted inside it, unless the subtest as a whole went wrong (a timeout, a
    // crash).
    const isRepeated = failedBefore !== null && (ok || count.failed > failedBefore);
    if (!isRepeated) count[skip ? 'skipped' : ok ? 'passed' : 'failed']++;
    if (!ok && !skip && diag) {
      console.log(`not ok: ${[...path, name].join(' > ')}`);
      const text = JSON.stringify(diag, (_, value) => (typeof value === 'bigint' ? `${value}n` : value), 2);
      console.log(text.slice(0, 4_000));
    }
    failedBefore = null;
  });
}
for (const file of process.argv.slice(2)) {
  if (!existsSync(file)) {
    console.log(`${file} is missing: its tests did not run`);
    count.failed++;
    continue;
  }
  const parser = new Parser();
  watch(parser, [file]);
  parser.end(readFileSync(file));
}
console.log(`${count.passed} passed, ${count.failed} failed${count.skipped > 0 ? `, ${count.skipped} skipped` : ''}`);
process.exitCode = count.failed > 0 ? 1 : 0;
