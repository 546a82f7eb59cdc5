import { readFileSync } from 'node:fs';
import t from 'tap';
import { simulate } from './simulator.js';

const table = readFileSync(new URL('../../../test/simulation/track-record.md', import.meta.url), 'utf8');
const seeds = [...table.matchAll(/^\| ([0-9]+) \|/gm)].map(([, seed]) => Number(seed));

t.ok(seeds.length >= 7, 'the track record is read');
for (const seed of seeds) {
  t.test(`seed ${seed} of the track record`, async (t) => {
    await t.resolves(simulate(seed));
  });
}
