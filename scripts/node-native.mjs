// Installs a major version of Node.js, whose binaries come as npm packages, into a directory of its own, so that the
// native uWebSockets.js 20.57 loads in it. That needs glibc 2.38: on a Debian with an older one a copy of the binary is
// run with the libraries of Debian trixie, which are unpacked beside it and touch nothing of the system. Prints the
// directory to put in front of PATH:
//   PATH="$(node scripts/node-native.mjs 24 dist/node-24):$PATH" npm run bench
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const GLIBC_NEEDED = [2, 38];
const SUITE = 'trixie';
const TRIPLES = { x64: 'x86_64-linux-gnu', arm64: 'aarch64-linux-gnu' };
/** The C library and what a C++ program needs. */
const LIBRARIES = ['libc6', 'libstdc++6', 'libgcc-s1'];

const say = (text) => process.stderr.write(`${text}\n`);
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: ['ignore', 2, 2] });
const read = (command, args) => execFileSync(command, args, { encoding: 'utf8' });

/**
 * `isNative`: uWebSockets.js 20.57 can load; else `bin` has the plain Node.js, and the reason was printed. `wantsNative`:
 * false leaves it at the C library of the machine.
 */
export function installNode(major, directory, wantsNative = true) {
  const dir = path.resolve(directory);
  mkdirSync(dir, { recursive: true });
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  run(
    'npm',
    ['install', '--prefix', dir, '--no-save', '--no-package-lock', '--loglevel=error', `${name}@${major}`],
    dir,
  );
  const bin = path.join(dir, 'node_modules', name, 'bin');
  if (hasGlibc(path.join(bin, 'node'))) return { bin, isNative: true };
  if (!wantsNative) return { bin, isNative: false };
  try {
    return { bin: withLibraries(path.join(bin, 'node'), dir), isNative: true };
  } catch (error) {
    say(`uWebSockets.js 20.57 cannot load: it needs glibc ${GLIBC_NEEDED.join('.')}, and ${error.message}`);
    return { bin, isNative: false };
  }
}

/** Whether the library is new enough, or another one than glibc, which the builds for macOS and Windows use. */
function hasGlibc(node) {
  if (process.platform !== 'linux') return true;
  const version = read(node, ['-p', 'process.report.getReport().header.glibcVersionRuntime ?? "0.0"']);
  const [major, minor] = version.trim().split('.').map(Number);
  return major > GLIBC_NEEDED[0] || (major === GLIBC_NEEDED[0] && minor >= GLIBC_NEEDED[1]);
}

/** Copies the binary and makes its copy use the unpacked libraries; returns the directory of the copy. */
function withLibraries(node, dir) {
  if (TRIPLES[process.arch] === undefined) throw new Error(`there are no builds for ${process.arch}`);
  for (const tool of ['apt-get', 'dpkg']) {
    try {
      read(tool, ['--version']);
    } catch {
      throw new Error(`${tool} is absent, which would fetch it`);
    }
  }
  const root = path.join(dir, 'root');
  if (!existsSync(root)) unpack(dir, root);
  const lib = path.join(root, 'usr/lib', TRIPLES[process.arch]);
  const loader = path.join(
    lib,
    readdirSync(lib).find((file) => /^ld-linux.*\.so/.test(file)),
  );
  const copy = path.join(dir, 'native', 'node');
  mkdirSync(path.dirname(copy), { recursive: true });
  cpSync(node, copy);
  run(path.join(root, 'usr/bin/patchelf'), ['--set-interpreter', loader, '--set-rpath', lib, copy], dir);
  return path.dirname(copy);
}

/** Downloads and unpacks the packages with a configuration of apt of its own, from the archive that the machine uses. */
function unpack(dir, root) {
  const key = '/usr/share/keyrings/debian-archive-keyring.gpg';
  for (const each of ['lists/partial', 'cache/archives/partial', 'etc']) {
    mkdirSync(path.join(dir, 'apt', each), { recursive: true });
  }
  const settings = {
    'Dir::State::lists': path.join(dir, 'apt/lists'),
    'Dir::Cache': path.join(dir, 'apt/cache'),
    'APT::Get::List-Cleanup': '0',
    // A download as root would otherwise be one of apt's own user, who may not write here.
    'APT::Sandbox::User': 'root',
  };
  const withSettings = (given) => Object.entries(given).flatMap(([key, value]) => ['-o', `${key}=${value}`]);
  // Only archives whose lists were read are named.
  run('apt-get', [...withSettings(settings), '-qq', 'update'], dir);
  const format = ['--format', '$(REPO_URI) $(COMPONENT) $(RELEASE)', 'Created-By: Packages'];
  const targets = read('apt-get', [...withSettings(settings), 'indextargets', ...format]);
  const main = targets.split('\n').find((line) => /\/debian\/? main [a-z]+$/.test(line));
  const [uri, , own] = main?.split(' ') ?? [];
  if (uri === undefined || !existsSync(key)) throw new Error('this machine has no archive of Debian to fetch it from');
  const sources = path.join(dir, 'apt/etc/sources.list');
  writeFileSync(sources, [SUITE, own].map((suite) => `deb [signed-by=${key}] ${uri} ${suite} main\n`).join(''));
  const options = withSettings({ ...settings, 'Dir::Etc::sourcelist': sources, 'Dir::Etc::sourceparts': '-' });
  // The machine's own patchelf: 0.18, which trixie has, breaks the binary.
  const packages = [...LIBRARIES.map((each) => `${each}/${SUITE}`), `patchelf/${own}`];
  run('apt-get', [...options, '-qq', 'update'], dir);
  run('apt-get', [...options, '-qq', 'download', ...packages], dir);
  for (const file of readdirSync(dir).filter((each) => each.endsWith('.deb'))) run('dpkg', ['-x', file, root], dir);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [major = '24', directory = `dist/node-${major}`] = process.argv.slice(2);
  console.log(installNode(major, directory).bin);
}
