import { readFileSync } from 'node:fs';
import t from 'tap';
import { simulateChains } from './chain-simulator.js';
import { simulate } from './simulator.js';

const table = readFileSync(new URL('../../../test/simulation/track-record.md', import.meta.url), 'utf8');
const seedsOf = (kind: string): number[] =>
  [...table.matchAll(new RegExp(`^\\| ${kind}([0-9]+) \\|`, 'gm'))].map(([, seed]) => Number(seed));
const seeds = seedsOf('');
const chainSeeds = seedsOf('chains ');

t.ok(seeds.length >= 7 && chainSeeds.length >= 3, 'the track record is read');
for (const seed of seeds) {
  t.test(`seed ${seed} of the track record`, async (t) => {
    await t.resolves(simulate(seed));
  });
}
for (const seed of chainSeeds) {
  t.test(`seed ${seed} with chains of the track record`, async (t) => {
    await t.resolves(simulateChains(seed));
  });
}
