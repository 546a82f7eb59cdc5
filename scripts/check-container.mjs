// Follows the Dockerfile without a Docker engine: each stage in a directory of its own, each COPY and RUN in its order,
// and at the end the image's command as its unprivileged user, until its health check passes, its page is there, and
// SIGTERM has ended it in order. What this cannot show: that the base image holds what this machine holds, and that
// layers and volumes behave.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { freePorts } from './free-ports.mjs';

const HEALTHY_WITHIN_MS = 60_000;
const NOBODY = 65_534;
const root = mkdtempSync(path.join(tmpdir(), 'quotebook-image-'));
chmodSync(root, 0o755);
const isRoot = process.getuid() === 0;
const context = path.join(root, 'context');
const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
for (const file of tracked) cpSync(file, path.join(context, file), { recursive: true });

/** The stage that is being built, those before it, and what the image says about how it is run. */
let stage = { dir: '', workdir: '/', env: {} };
const stages = {};
const image = {};

/** A path of the image, in the directory that stands for it. */
const inside = (dir, target) => path.join(dir, target);
/** Commands name absolute paths of the image; outside of one those have to be found elsewhere. */
const relocated = (command) => command.replaceAll(/(?<=^|\s)\/(?=app|data)/g, `${stage.dir}/`);

const instructions = {
  FROM(rest) {
    const [, name = 'final'] = / AS (\S+)$/i.exec(rest) ?? [];
    stage = { dir: path.join(root, name), workdir: '/', env: {} };
    stages[name] = stage;
    mkdirSync(stage.dir);
  },
  WORKDIR(rest) {
    stage.workdir = rest;
    mkdirSync(inside(stage.dir, rest), { recursive: true });
  },
  ENV(rest) {
    for (const pair of rest.split(' ')) stage.env[pair.split('=')[0]] = pair.slice(pair.indexOf('=') + 1);
  },
  COPY(rest) {
    const words = rest.split(/\s+/);
    const from = words[0].startsWith('--from=') ? stages[words.shift().slice('--from='.length)].dir : context;
    const to = words.pop();
    for (const source of words) {
      // With a slash at its end the last word is a folder to put things into; without, the new name of the one thing.
      const target = to.endsWith('/') ? path.join(to, path.basename(source)) : to;
      const absolute = inside(stage.dir, path.join(stage.workdir, target));
      cpSync(path.join(from, source), absolute, { recursive: true, verbatimSymlinks: true });
    }
  },
  RUN(rest) {
    console.log(`RUN ${rest}`);
    const command = relocated(rest).replace(/ && chown .*/, '');
    const env = { ...process.env, ...stage.env };
    execFileSync('sh', ['-c', command], {
      cwd: inside(stage.dir, stage.workdir),
      env,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  },
  USER: (rest) => (image.user = rest),
  HEALTHCHECK: (rest) => (image.health = JSON.parse(rest.slice(rest.indexOf('CMD ') + 4))),
  ENTRYPOINT: (rest) => (image.entrypoint = JSON.parse(rest)),
  CMD: (rest) => (image.command = JSON.parse(rest)),
  EXPOSE: () => undefined,
  VOLUME: () => undefined,
};

try {
  const dockerfile = readFileSync('Dockerfile', 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll(/\\\n\s*/g, '');
  for (const line of dockerfile.split('\n').filter((each) => each.trim() !== '')) {
    const [word] = line.split(' ');
    if (!(word in instructions)) throw new Error(`This check does not know ${word}`);
    instructions[word](line.slice(word.length + 1).trim());
  }
  if (image.user === undefined || image.user === 'root') throw new Error('The image runs as root');
  await run();
} finally {
  rmSync(root, { recursive: true, force: true });
}

async function run() {
  const dataDir = path.join(root, 'data');
  mkdirSync(dataDir);
  if (isRoot) chownSync(dataDir, NOBODY, NOBODY);
  const env = {
    PATH: process.env.PATH,
    ...stage.env,
    QUOTEBOOK_DATA_DIR: dataDir,
    QUOTEBOOK_PORT: String((await freePorts(1))[0]),
  };
  const asNobody = isRoot ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
  const [program, ...words] = [...asNobody, ...image.entrypoint, ...image.command];
  const cwd = inside(stage.dir, stage.workdir);
  const service = spawn(program, words, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const startedAt = Date.now();
  const [health, ...healthWords] = image.health;
  while (spawnSync(health, healthWords, { cwd, env, stdio: 'ignore' }).status !== 0) {
    if (service.exitCode !== null) throw new Error(`It ended with ${service.exitCode}`);
    if (Date.now() - startedAt > HEALTHY_WITHIN_MS) throw new Error('Its health check does not pass');
  }
  console.log(`healthy after ${Date.now() - startedAt} ms, as ${isRoot ? 'nobody' : 'this user'}`);
  // While it waits for its chains it is healthy, and has no page yet.
  while ((await fetch(`http://127.0.0.1:${env.QUOTEBOOK_PORT}/`)).status !== 200) {
    if (Date.now() - startedAt > HEALTHY_WITHIN_MS) throw new Error('Its page is not there');
  }
  service.kill('SIGTERM');
  const [code] = await once(service, 'exit');
  if (code !== 0) throw new Error(`It stopped with ${code}`);
  console.log('and stopped in order');
}
