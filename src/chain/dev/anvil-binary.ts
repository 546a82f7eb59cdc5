import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/**
 * The packages that carry the binary. The one for Linux on x64 is a dependency, the others are installed by who needs
 * them.
 */
const packages: Readonly<Record<string, string>> = {
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64',
  'linux-x64': '@foundry-rs/anvil-linux-amd64',
};

/**
 * Path of anvil's binary, which lies in its package as it is: no install script has to run. Throws where there is none.
 */
export function anvilBinary(): string {
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (name === undefined) throw new Error(`There is no anvil for ${platform}: the local chain can't run here`);
  try {
    return require.resolve(`${name}/bin/anvil`);
  } catch (cause) {
    throw new Error(`${name} is not installed: npm install --no-save ${name} brings it`, { cause });
  }
}
