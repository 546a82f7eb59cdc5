import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The packages that carry the binary, as `@foundry-rs/anvil` names them by platform and architecture. */
const packages: Readonly<Record<string, string>> = {
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64',
  'linux-x64': '@foundry-rs/anvil-linux-amd64',
};

/**
 * Path of anvil's binary. npm installs the platform's package as an optional dependency, so no install script has to
 * run. Throws where there is none for this machine.
 */
export function anvilBinary(): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (name === undefined) throw new Error(`There is no anvil for ${platform}: the local chain can't run here`);
  try {
    return require.resolve(`${name}/bin/anvil`);
  } catch (cause) {
    throw new Error(`${name} is not installed: run npm ci without --omit=optional`, { cause });
  }
}
