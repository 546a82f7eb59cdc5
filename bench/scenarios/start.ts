import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startAnvil } from '../../src/chain/dev/anvil.js';
import { LOCAL_CHAIN_ID } from '../../src/chain/dev/local-chain.js';
import { inTurn, median } from '../contest.js';
import { atMost, type Row, type Scenario } from '../scenario.js';

/** Compiled, this file is dist/bench/scenarios/start.js. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SERVE = ['dist/src/cli/quotebook.js', 'serve', '--profile', 'local'];
const SECONDS_GOAL = 4;

/** Starts the local set-up, stops it once it is ready, and resolves to the seconds that it took. */
async function startService(program: string, words: readonly string[], dataDir: string): Promise<number> {
  const startMs = performance.now();
  const child = spawn(program, [...words, '--port', '0', '--data-dir', dataDir, '--log-level', 'error'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'inherit'],
    // A signal to its group reaches npm's child too.
    detached: true,
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${program} does not start`);
  const ended = once(child, 'close');
  let tookMs: number | null = null;
  for await (const line of createInterface(child.stdout)) {
    if (!line.startsWith('Quotebook is ready')) continue;
    tookMs = performance.now() - startMs;
    process.kill(-pid, 'SIGINT');
  }
  const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
  if (tookMs === null) throw new Error(`The service ended with ${signal ?? code} before it was ready`);
  return tookMs / 1000;
}

/** Starts a chain from a state file, stops it once it answers, and resolves to the seconds that it took. */
async function startChain(stateFile: string): Promise<number> {
  const startMs = performance.now();
  const anvil = await startAnvil({ chainId: LOCAL_CHAIN_ID, stateFile });
  const tookMs = performance.now() - startMs;
  await anvil.stop();
  return tookMs / 1000;
}

export const start: Scenario = {
  name: 'start',
  title: 'Start of the local set-up',
  workload: `From the command to the line that says it is ready: the first start in an empty directory, which deploys the
contracts and the pools, and later ones, which find them. The baseline is anvil alone, with the state of the same chain.`,
  async run(scale) {
    const isFull = scale === 'full';
    const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-bench-'));
    try {
      const options = { rounds: isFull ? 5 : 1, warmUps: 0 };
      const first = await startService(process.execPath, SERVE, dataDir);
      const [later = [], chain = []] = await inTurn(
        [
          () => startService(process.execPath, SERVE, dataDir),
          () => startChain(path.join(dataDir, 'local-chain.json')),
        ],
        options,
        (each) => each(),
      );
      const seconds = (label: string, value: number, goal: Row['goal']): Row => ({
        label,
        ours: { value, unit: 's' },
        baseline: null,
        ratio: null,
        goal,
        noise: null,
      });
      const rows = [
        seconds('first start', first, null),
        {
          ...seconds('second start', median(later), null),
          baseline: { value: median(chain), unit: 's', name: 'anvil alone' },
          ratio: median(later.map((took, round) => took / (chain[round] ?? NaN))),
        },
      ];
      // `npm start` may compile into the directory from which others run.
      if (isFull) {
        const npmStart = (): Promise<number> => startService('npm', ['start', '--'], dataDir);
        await npmStart();
        const [took = []] = await inTurn([npmStart], options, (each) => each());
        rows.push(seconds('second npm start', median(took), atMost(SECONDS_GOAL, 'ours')));
      }
      return { rows };
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  },
};
