// Puts the page together in dist/web: its modules with the client library as one script, beside the files that are as
// they are. Then the renderer of /docs, whose package is in a directory of its own: it asks for others that its bundle
// has inside, or has no use for.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('../', import.meta.url);
const target = new URL('dist/web/', root);
const REDOC_LOGO = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" width="40" height="14"><text y="11" font-size="11" font-family="sans-serif">Redoc</text></svg>',
).replaceAll("'", '%27')}`;

const script = (from, to, format) => ({
  entryPoints: [fileURLToPath(new URL(`web/${from}`, root))],
  outfile: fileURLToPath(new URL(to, target)),
  bundle: true,
  minify: true,
  format,
  platform: 'browser',
  target: 'es2022',
  legalComments: 'none',
  logLevel: 'warning',
});

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
await Promise.all([
  ...['index.html', 'style.css', 'icon.svg'].map((name) =>
    copyFile(new URL(`web/${name}`, root), new URL(name, target)),
  ),
  copyFile(new URL('CHANGELOG.md', root), new URL('changelog.txt', target)),
  build(script('app.ts', 'app.js', 'esm')),
]);
if (await putRenderer()) await build(script('docs/start.ts', 'docs.js', 'iife'));

/** False where it is not installed and cannot be: /docs is the plain page then. */
async function putRenderer() {
  const directory = fileURLToPath(new URL('web/docs/', root));
  const installed = new URL('web/docs/node_modules/redoc/', root);
  if (!existsSync(installed)) {
    try {
      execFileSync('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'], {
        cwd: directory,
        stdio: ['ignore', 'ignore', 'inherit'],
      });
    } catch {
      console.error('The renderer of /docs could not be installed: /docs will be the plain page');
      return false;
    }
  }
  const bundle = await readFile(new URL('bundles/redoc.standalone.js', installed), 'utf8');
  const license = await readFile(new URL('LICENSE', installed), 'utf8');
  // The one thing that it loads from elsewhere.
  const local = bundle.replaceAll(/https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini(-full)?\.svg/g, REDOC_LOGO);
  if (local === bundle) throw new Error('The renderer has another logo: see what else it loads');
  await writeFile(new URL('redoc.js', target), `/*! Redoc\n${license}*/\n${local}`);
  return true;
}
