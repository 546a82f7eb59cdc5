import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import type { Deployment } from './deploy.js';

/** A deployment is kept beside the state file of the chain that it is on. */
function pathOf(stateFile: string): string {
  return `${stateFile}.deployment`;
}

/** Null when nothing was saved; throws when what is there is no deployment. */
export function loadDeployment(stateFile: string): Deployment | null {
  let text: string;
  try {
    text = readFileSync(pathOf(stateFile), 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw error;
  }
  return JSON.parse(text, (key, value: unknown) => (key === 'strike' ? BigInt(String(value)) : value)) as Deployment;
}

/** Written aside and renamed, so that there is a whole file or none. */
export function saveDeployment(stateFile: string, deployment: Deployment): void {
  const path = pathOf(stateFile);
  const text = JSON.stringify(deployment, (_, value: unknown) => (typeof value === 'bigint' ? `${value}` : value), 1);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
