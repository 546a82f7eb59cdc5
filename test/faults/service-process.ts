import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LocalChain } from '../../src/chain/dev/local-chain.js';
import { until } from '../until.js';

const PROGRAM = fileURLToPath(new URL('../../src/cli/quotebook.js', import.meta.url));

/** On a busy machine. */
const START_MS = 180_000;

/** The real program in a process of its own, on a chain that outlives it. */
export class ServiceProcess {
  #child: ChildProcess | null = null;
  #httpUrl = '';
  #said = '';

  private constructor(
    readonly dataDir: string,
    private readonly environment: NodeJS.ProcessEnv,
    readonly apiKey: string,
  ) {}

  /**
   * Makes a profile file in `dataDir`, and an API key; starts nothing yet. `settings` are environment variables; one of
   * them may name another directory for the service itself.
   */
  static async prepare(
    chain: LocalChain,
    dataDir: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<ServiceProcess> {
    // A wider directory is warned of at the start.
    chmodSync(dataDir, 0o700);
    const profileFile = path.join(dataDir, 'profile.json');
    writeFileSync(
      profileFile,
      JSON.stringify(chain.profile, (_, value: unknown) => value ?? undefined),
    );
    return ServiceProcess.#withKey(dataDir, {
      QUOTEBOOK_PROFILE: profileFile,
      QUOTEBOOK_WALLET_KEY: chain.accounts[0]?.privateKey,
      ...settings,
    });
  }

  /** As `prepare`, for the service that brings its own chain along. */
  static prepareLocal(dataDir: string): Promise<ServiceProcess> {
    return ServiceProcess.#withKey(dataDir, { QUOTEBOOK_PROFILE: 'local' });
  }

  static async #withKey(dataDir: string, settings: NodeJS.ProcessEnv): Promise<ServiceProcess> {
    // Without what the environment of the tests says to the tests.
    const others = Object.entries(process.env).filter(([name]) => !name.startsWith('QUOTEBOOK_'));
    const environment = {
      ...Object.fromEntries(others),
      QUOTEBOOK_DATA_DIR: dataDir,
      QUOTEBOOK_PORT: '0',
      QUOTEBOOK_READY_FILE: path.join(dataDir, 'ready.json'),
      QUOTEBOOK_LOG_LEVEL: 'warn',
      ...settings,
    };
    const created = await runProgram(['keys', 'create', '--tier', 'paid', '--label', 'fault test'], environment);
    if (created.code !== 0) throw new Error(`no key was made: ${created.stderr}`);
    return new ServiceProcess(dataDir, environment, created.stdout.trim());
  }

  get httpUrl(): string {
    return this.#httpUrl;
  }

  /** The text log of its last start. */
  get said(): string {
    return this.#said;
  }

  /** True from its start until its end. */
  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves to the exit code, or the signal's name, once the process has ended. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    const child = this.#child;
    if (child === null) return null;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return child.exitCode ?? child.signalCode;
  }

  /** From now on it may have so many files open, sockets included. */
  limitOpenFiles(count: number): void {
    execFileSync('prlimit', ['--pid', String(this.#child?.pid), `--nofile=${count}:${count}`]);
  }

  /** Memory of the process that is in RAM, and the CPU time that it has used, as Linux counts them. */
  usage(): { rssBytes: number; cpuMs: number } {
    const pid = this.#child?.pid;
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const rssKiB = Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]);
    // After the name in brackets: state is field 3, utime 14, stime 15, in ticks of 10 ms (proc(5), USER_HZ 100).
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { rssBytes: rssKiB * 1024, cpuMs: (Number(fields[11]) + Number(fields[12])) * 10 };
  }

  /**
   * Resolves once the ready file is there; rejects when the process ends before. `onOutput` is given what it prints,
   * `flags` are those of `serve`.
   */
  async start(
    nodeFlags: readonly string[] = [],
    onOutput?: (text: string) => void,
    flags: readonly string[] = [],
  ): Promise<void> {
    const readyFile = path.join(this.dataDir, 'ready.json');
    rmSync(readyFile, { force: true });
    const child = spawn(process.execPath, [...nodeFlags, PROGRAM, 'serve', ...flags], {
      env: this.environment,
      stdio: ['ignore', onOutput ? 'pipe' : process.env.TEST_LOG_LEVEL === undefined ? 'ignore' : 'inherit', 'pipe'],
    });
    child.stdout?.on('data', (data: Buffer) => onOutput?.(data.toString()));
    this.#said = '';
    child.stderr?.on('data', (data: Buffer) => (this.#said += data.toString()));
    this.#child = child;
    await until(() => {
      const isReady = existsSync(readyFile);
      if (!isReady && !this.isRunning) throw new Error(`it ended at its start: ${this.#said}`);
      return isReady;
    }, START_MS);
    const { httpUrl } = JSON.parse(readFileSync(readyFile, 'utf8')) as { httpUrl: string };
    this.#httpUrl = httpUrl;
  }

  /** Resolves as `ended`; the process may have ended before. */
  async end(signal: NodeJS.Signals): Promise<number | NodeJS.Signals | null> {
    this.#child?.kill(signal);
    const ended = await this.ended();
    this.#child = null;
    return ended;
  }

  /** Runs the program's other commands with the same settings. */
  run(words: readonly string[]): Promise<{ code: number | null; stdout: string; stderr: string }> {
    return runProgram(words, this.environment);
  }
}

async function runProgram(
  words: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [PROGRAM, ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
  child.stderr.on('data', (data: Buffer) => (stderr += data.toString()));
  await once(child, 'close');
  return { code: child.exitCode, stdout, stderr };
}
