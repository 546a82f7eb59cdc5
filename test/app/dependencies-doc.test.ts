import { readFile } from 'node:fs/promises';
import t from 'tap';
import { readDocument } from './read-document.js';

type Versions = Readonly<Record<string, string>>;
interface PackageFile {
  readonly dependencies: Versions;
  readonly optionalDependencies: Versions;
  readonly devDependencies: Versions;
}

const DAY_MS = 24 * 60 * 60_000;
const MIN_AGE_DAYS = 14;

const read = (file: string): Promise<string> => readFile(new URL(`../../../${file}`, import.meta.url), 'utf8');
const packageFile = JSON.parse(await read('package.json')) as PackageFile;
const document = readDocument('docs/explanation/dependencies.md');
const checkedMs = Date.parse(/^Checked on (\S+)\./m.exec(document)?.[1] ?? '');
const sections = document.split(/^## /m);

/** Cells of the rows of the section's table. */
function tableOf(title: string): readonly (readonly string[])[] {
  const section = sections.find((each) => each.startsWith(`${title}\n`)) ?? '';
  const lines = section.split('\n').filter((line) => line.startsWith('| `'));
  return lines.map((line) => line.split(' | ').map((cell) => cell.replace(/^\| | \|$/g, '')));
}

/** An alias is shown with the package that it stands for. */
function shown([name, version]: readonly [string, string]): readonly string[] {
  const [, real, realVersion] = /^npm:(.+)@(.+)$/.exec(version) ?? [];
  return real === undefined ? [`\`${name}\``, version] : [`\`${name}\` (${real})`, realVersion ?? ''];
}

/** The oldest versions that the Python client takes. */
const pythonVersions: Versions = Object.fromEntries(
  [
    ...(/^dependencies = \[(.+)\]$/m.exec(await read('clients/python/pyproject.toml'))?.[1] ?? '').matchAll(
      /"(\w+)>=([\d.]+)"/g,
    ),
  ].map(([, name = '', version = '']) => [name, version]),
);

for (const [title, versions] of [
  ['Service and client', packageFile.dependencies],
  ['Optional', packageFile.optionalDependencies],
  ['Development', packageFile.devDependencies],
  ['Documentation page', (JSON.parse(await read('web/docs/package.json')) as PackageFile).dependencies],
  ['Python client', pythonVersions],
] as const) {
  t.test(`docs/explanation/dependencies.md has the packages of "${title}" as they are pinned`, async (t) => {
    t.ok(Object.keys(versions).length > 0);
    const table = tableOf(title);
    t.strictSame(
      table.map(([name, version]) => [name, version]),
      Object.entries(versions).map(shown),
    );
    for (const [name = '', version = '', released = '', ...about] of table) {
      t.match(version, /^\d+\.\d+(\.\d+)?(-[\w.]+)?$/, `${name} is pinned`);
      t.match(released, /^\d{4}-\d\d-\d\d$/, `${name} has a date`);
      t.ok(about.length === 3 && about.every((cell) => cell !== ''), `${name} has its reasons`);
      if (title === 'Development') continue;
      const ageDays = (checkedMs - Date.parse(released)) / DAY_MS;
      t.ok(ageDays >= MIN_AGE_DAYS, `${name} was ${ageDays} days old`);
    }
  });
}

t.test('anvil is pinned for every platform that the local chain runs on, with a checksum', async (t) => {
  const source = await read('src/chain/dev/anvil.ts');
  const used = [...source.matchAll(/'(@foundry-rs\/[\w-]+)\/bin\/anvil(?:\.exe)?'/g)].map(([, name = '']) => name);
  const pinned = Object.keys(packageFile.optionalDependencies).filter((name) => name.startsWith('@foundry-rs/'));
  t.strictSame(used.sort(), pinned.sort());
  const lock = JSON.parse(await read('package-lock.json')) as {
    packages: Record<string, { integrity?: string; optional?: boolean; os?: readonly string[] } | undefined>;
  };
  for (const name of [...pinned, 'uws-native', 'uws-node20']) {
    const { integrity, optional } = lock.packages[`node_modules/${name}`] ?? {};
    t.match(integrity, /^sha512-/, name);
    t.equal(optional, true, `${name} may be absent`);
  }
});
