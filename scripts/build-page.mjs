// Puts the page together in dist/web: its modules with the client library as one script, beside the files that are as
// they are.
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = new URL('../', import.meta.url);
const target = new URL('dist/web/', root);

await rm(target, { recursive: true, force: true });
await mkdir(target, { recursive: true });
await Promise.all([
  ...['index.html', 'style.css', 'icon.svg'].map((name) =>
    copyFile(new URL(`web/${name}`, root), new URL(name, target)),
  ),
  build({
    entryPoints: [fileURLToPath(new URL('web/app.ts', root))],
    outfile: fileURLToPath(new URL('app.js', target)),
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'browser',
    target: 'es2022',
    legalComments: 'none',
    logLevel: 'warning',
  }),
]);
