// Installs the locked dependencies as npm does on other platforms, and fails where a native file that the two commands
// of the README need there is absent. What it cannot show is that the files run.
//   node scripts/check-platforms.mjs linux-arm64 darwin-x64
import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

/** Versions of Node.js by the number that the names of native modules carry. */
const ABIS = { 20: 115, 22: 127, 24: 137 };
const uws = (platform) => Object.values(ABIS).map((abi) => `uws-native/uws_${platform.replace('-', '_')}_${abi}.node`);

/** Below node_modules. */
const NEEDED = {
  'linux-x64': [
    ...uws('linux-x64'),
    'uws-node20/binaries/uws_linux_x64_115.node',
    '@foundry-rs/anvil-linux-amd64/bin/anvil',
  ],
  'linux-arm64': [...uws('linux-arm64'), '@foundry-rs/anvil-linux-arm64/bin/anvil'],
  'darwin-x64': [...uws('darwin-x64'), '@foundry-rs/anvil-darwin-amd64/bin/anvil'],
  'darwin-arm64': [...uws('darwin-arm64'), '@foundry-rs/anvil-darwin-arm64/bin/anvil'],
  'win32-x64': [...uws('win32-x64'), '@foundry-rs/anvil-win32-amd64/bin/anvil.exe'],
};

const asked = process.argv.slice(2);
for (const platform of asked.length > 0 ? asked : Object.keys(NEEDED)) {
  const absent = await absentOn(platform);
  console.log(
    absent.length === 0 ? `${platform}: all native files are there` : `${platform} lacks ${absent.join(', ')}`,
  );
  if (absent.length > 0) process.exitCode = 1;
}

async function absentOn(platform) {
  const needed = NEEDED[platform];
  if (needed === undefined)
    throw new Error(`There is no list for ${platform}; there are ${Object.keys(NEEDED).join()}`);
  const dir = mkdtempSync(path.join(tmpdir(), `quotebook-${platform}-`));
  try {
    for (const file of ['package.json', 'package-lock.json', '.npmrc']) copyFileSync(file, path.join(dir, file));
    const [os, cpu] = platform.split('-');
    await promisify(execFile)('npm', ['ci', '--omit=dev', '--prefer-offline', `--os=${os}`, `--cpu=${cpu}`], {
      cwd: dir,
    });
    return needed.filter((file) => !existsSync(path.join(dir, 'node_modules', file)));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}
