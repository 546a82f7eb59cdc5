import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Pool } from '../../engine/quote.js';
import type { Deployment } from './deploy.js';

/** What is on a chain: the contracts, and the pools that they were asked for at the start. */
export interface SavedDeployment {
  readonly deployment: Deployment;
  readonly pools: readonly Pool[];
}

/** A deployment is kept beside the state file of the chain that it is on. */
function pathOf(stateFile: string): string {
  return `${stateFile}.deployment`;
}

/** Null when nothing was saved; throws when what is there is no deployment. */
export function loadDeployment(stateFile: string): SavedDeployment | null {
  let text: string;
  try {
    text = readFileSync(pathOf(stateFile), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  return JSON.parse(text, (key, value: unknown) =>
    key === 'strike' ? BigInt(String(value)) : value,
  ) as SavedDeployment;
}

/** Written aside and renamed, so that there is a whole file or none. */
export function saveDeployment(stateFile: string, saved: SavedDeployment): void {
  const path = pathOf(stateFile);
  const text = JSON.stringify(saved, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value), 1);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
