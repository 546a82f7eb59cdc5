import t from 'tap';
import { readDocument } from '../app/read-document.js';
import { simulateChains } from './chain-simulator.js';
import { simulate } from './simulator.js';

const table = readDocument('test/simulation/track-record.md');
/** Each with the lives that its line gives it; undefined: as many as there are by default. */
const seedsOf = (kind: string): [seed: number, lives: number | undefined][] =>
  [...table.matchAll(new RegExp(`^\\| ${kind}([0-9]+)(?:, ([0-9]+) lives)? \\|`, 'gm'))].map(([, seed, lives]) => [
    Number(seed),
    lives === undefined ? undefined : Number(lives),
  ]);
const seeds = seedsOf('');
const chainSeeds = seedsOf('chains ');

t.ok(seeds.length >= 10 && chainSeeds.length >= 9, 'the track record is read');
t.ok(
  chainSeeds.some(([, lives]) => lives === 8),
  'and so are the lives that it gives a seed',
);
for (const [seed, lives] of seeds) {
  t.test(`seed ${seed} of the track record`, async (t) => {
    await t.resolves(simulate(seed, lives));
  });
}
for (const [seed, lives] of chainSeeds) {
  t.test(`seed ${seed} with chains of the track record`, async (t) => {
    await t.resolves(simulateChains(seed, lives));
  });
}
