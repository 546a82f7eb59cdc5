import { readFileSync } from 'node:fs';
import { encodeDeployData, type Abi } from 'viem';
import type { Hex } from '../../engine/quote.js';

/** Beside the sources of the contracts, four levels above the compiled `dist/src/chain/dev`. */
const artifactsDir = new URL('../../../../contracts/artifacts/', import.meta.url);

interface Artifact {
  readonly abi: Abi;
  readonly bytecode: Hex;
}

/** Data of the transaction that creates a contract of `contracts/`. */
export function creationData(contractName: string, args: readonly unknown[]): Hex {
  const text = readFileSync(new URL(`${contractName}.json`, artifactsDir), 'utf8');
  const { abi, bytecode } = JSON.parse(text) as Artifact;
  return encodeDeployData({ abi, bytecode, args });
}
