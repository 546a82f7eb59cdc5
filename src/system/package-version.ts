import { readFileSync } from 'node:fs';

const packageFile = new URL('../../../package.json', import.meta.url);

/** Version of the package that this file is part of, in a clone and installed. */
export const PACKAGE_VERSION = (JSON.parse(readFileSync(packageFile, 'utf8')) as { readonly version: string }).version;
