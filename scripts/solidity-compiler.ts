import { createRequire } from 'node:module';
import { readFileSync, readdirSync } from 'node:fs';
import type { Abi, Hex } from 'viem';

const require = createRequire(import.meta.url);

/** What is committed of a compiled contract. */
export interface Artifact {
  readonly contractName: string;
  readonly abi: Abi;
  readonly bytecode: Hex;
}

interface CompilerOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts?: Record<string, Record<string, { abi: Abi; evm: { bytecode: { object: string } } }>>;
}

/**
 * Compiles every source of `contractsDir` and returns the contracts that can be deployed, by name. Without the metadata
 * hash the same sources give the same bytes on every machine. Throws with the compiler's words on errors and warnings.
 */
export function compileContracts(contractsDir: URL): Map<string, Artifact> {
  const files = readdirSync(contractsDir).filter((name) => name.endsWith('.sol'));
  const sources = Object.fromEntries(
    files.map((name) => [name, { content: readFileSync(new URL(name, contractsDir), 'utf8') }]),
  );
  const output = compile({
    language: 'Solidity',
    sources,
    settings: {
      // The newest rules that anvil and Arbitrum agree on.
      evmVersion: 'cancun',
      optimizer: { enabled: true, runs: 200 },
      // Without it the events with many arguments run out of stack.
      viaIR: true,
      metadata: { bytecodeHash: 'none', appendCBOR: false },
      outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
    },
  });
  if (output.errors?.length) throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'));

  const artifacts = new Map<string, Artifact>();
  for (const contracts of Object.values(output.contracts ?? {})) {
    for (const [contractName, { abi, evm }] of Object.entries(contracts)) {
      // Interfaces and abstract contracts have no code; libraries of internal functions have nothing to call.
      if (evm.bytecode.object === '' || !abi.some((item) => item.type === 'function')) continue;
      artifacts.set(contractName, { contractName, abi, bytecode: `0x${evm.bytecode.object}` });
    }
  }
  return artifacts;
}

/** The text of an artifact's file. */
export function artifactText(artifact: Artifact): string {
  return `${JSON.stringify(artifact, null, 1)}\n`;
}

function compile(input: unknown): CompilerOutput {
  // Loading the compiler takes a second and 100 MB, so only who compiles loads it.
  const solc = require('solc') as { compile(input: string): string };
  return JSON.parse(solc.compile(JSON.stringify(input))) as CompilerOutput;
}
