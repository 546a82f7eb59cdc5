import { execFileSync } from 'node:child_process';
import { cpus, loadavg, release, totalmem, type } from 'node:os';

/** Where and of what a run's figures are. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGib: number;
  readonly system: string;
  readonly node: string;
  /** Load average of the minute before the run: what else the machine was doing. */
  readonly loadBefore: number;
  /** Of the sources; marked when they differ from it. */
  readonly commit: string;
  readonly startedAt: string;
}

export function describeMachine(): Machine {
  const [first] = cpus();
  return {
    cpu: first?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryGib: Math.round(totalmem() / 2 ** 30),
    system: `${type()} ${release()}`,
    node: process.version,
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    commit: commit(),
    startedAt: new Date().toISOString(),
  };
}

function commit(): string {
  try {
    const head = git('rev-parse', '--short=12', 'HEAD');
    // The report itself is written by the run before.
    const changes = git(
      'status',
      '--porcelain',
      '--',
      ':/',
      ':(exclude,top)bench/README.md',
      ':(exclude,top)bench/latency',
    );
    return changes === '' ? head : `${head}, with changes`;
  } catch {
    return 'unknown';
  }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
