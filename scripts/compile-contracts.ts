import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { artifactText, compileContracts } from './solidity-compiler.js';

/** Compiles `contracts/` into `contracts/artifacts/`, from the package's root: `npm run contracts`. */
const contractsDir = new URL('contracts/', pathToFileURL(`${process.cwd()}/`));
const artifactsDir = new URL('artifacts/', contractsDir);

const artifacts = compileContracts(contractsDir);
mkdirSync(artifactsDir, { recursive: true });
for (const name of readdirSync(artifactsDir)) rmSync(new URL(name, artifactsDir));
for (const artifact of artifacts.values()) {
  writeFileSync(new URL(`${artifact.contractName}.json`, artifactsDir), artifactText(artifact));
  console.log(`${artifact.contractName}: ${artifact.bytecode.length / 2 - 1} bytes`);
}
