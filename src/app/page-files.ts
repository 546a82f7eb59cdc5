import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PageFile } from '../http/static-routes.js';

/** Where the build puts the page: beside the compiled sources. */
export const PAGE_DIRECTORY = fileURLToPath(new URL('../../web/', import.meta.url));

const CONTENT_TYPES: Readonly<Partial<Record<string, string>>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
};

/** The files right in the directory, of the kinds that a page is made of; none when it was not built. */
export async function readPageFiles(directory: string): Promise<PageFile[]> {
  const names = await readdir(directory).catch(() => []);
  const files = names.sort().map(async (name) => {
    const contentType = CONTENT_TYPES[path.extname(name)];
    if (contentType === undefined) return [];
    const body = await readFile(path.join(directory, name));
    return [{ path: `/${name}`, contentType, body, digest: createHash('sha256').update(body).digest('base64url') }];
  });
  return (await Promise.all(files)).flat();
}
