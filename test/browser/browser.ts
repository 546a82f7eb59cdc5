import { existsSync } from 'node:fs';
import { chromium, type Browser } from 'playwright-core';

/** The first is Chromium without windows, which takes less of a core. */
const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];

/** A browser that the machine has; `QUOTEBOOK_CHROMIUM` names another. Null without one. */
export function browserPath(): string | null {
  const named = process.env.QUOTEBOOK_CHROMIUM;
  return named ?? PLACES.find((place) => existsSync(place)) ?? null;
}

/** Without a sandbox, which needs rights that root in a container has not; it opens nothing but our own page. */
export function launch(executablePath: string): Promise<Browser> {
  const quiet = ['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-first-run'];
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu', '--disable-quic', ...quiet] });
}
