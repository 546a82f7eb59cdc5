import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';

const STATE_INTERVAL_SECONDS = 5;

export interface AnvilOptions {
  readonly chainId: number;
  /** 0 picks a free one. */
  readonly port?: number;
  /** The chain is loaded from this file if it exists, and saved to it every `STATE_INTERVAL_SECONDS` and at the end. */
  readonly stateFile?: string;
  /** Another binary than the package's. */
  readonly anvilPath?: string;
  /** More of anvil's own arguments. */
  readonly extraArgs?: readonly string[];
}

export interface Anvil {
  readonly rpcUrl: string;
  readonly wsUrl: string;
  readonly pid: number;
  /** Resolves when the process is gone. Its state file is written by then. */
  stop(): Promise<void>;
}

/**
 * Runs a command and ends it when standard input closes. The parent holds the other end of that pipe, so the command
 * dies with the parent even when the parent has no chance to say so (kill -9). The first line tells the command's pid.
 */
const leash = `exec 3<&0
"$@" 3<&- &
command=$!
echo "pid $command"
{ cat <&3 >/dev/null; kill -TERM $command; } 2>/dev/null &
leash=$!
wait $command
code=$?
kill $leash 2>/dev/null
exit $code`;

/** Starts anvil and resolves once it answers. Rejects with its last words when it can't start. */
export async function startAnvil(options: AnvilOptions): Promise<Anvil> {
  const binary = options.anvilPath ?? anvilBinary();
  const child = spawn('sh', ['-c', leash, 'leash', binary, ...anvilArguments(options)], {
    stdio: ['pipe', 'pipe', 'pipe'],
    // Ctrl-C in a terminal reaches the parent alone, which then stops the chain last.
    detached: true,
  });
  const exited = new Promise<void>((resolve) => child.once('close', () => resolve()));
  // Writing to the leash of a process that is already gone is no error.
  child.stdin.on('error', () => undefined);
  const { pid, port } = await listening(child);
  return {
    rpcUrl: `http://127.0.0.1:${port}`,
    wsUrl: `ws://127.0.0.1:${port}`,
    pid,
    stop: async () => {
      child.stdin.end();
      await exited;
    },
  };
}

function anvilArguments(options: AnvilOptions): string[] {
  const args = ['--host', '127.0.0.1', '--port', `${options.port ?? 0}`, '--chain-id', `${options.chainId}`];
  // Transactions are mined in the order in which they came.
  args.push('--order', 'fifo');
  if (options.stateFile !== undefined) {
    args.push('--state', options.stateFile, '--state-interval', `${STATE_INTERVAL_SECONDS}`);
  }
  return [...args, ...(options.extraArgs ?? [])];
}

/** Anvil names its port on standard output; what it prints after that is read and dropped. */
function listening(child: ChildProcess): Promise<{ pid: number; port: number }> {
  return new Promise((resolve, reject) => {
    if (!child.stdout || !child.stderr) throw new Error('anvil was started without pipes');
    let pid = 0;
    const lastWords: string[] = [];
    const hear = (line: string): void => {
      pid ||= Number(/^pid (\d+)$/.exec(line)?.[1] ?? 0);
      const port = /^Listening on .*:(\d+)$/.exec(line)?.[1];
      if (port !== undefined) resolve({ pid, port: Number(port) });
      if (lastWords.push(line) > 20) lastWords.shift();
    };
    createInterface(child.stdout).on('line', hear);
    createInterface(child.stderr).on('line', hear);
    child.once('error', reject);
    child.once('close', (code) => {
      reject(new Error(`anvil ended with code ${code} before it listened: ${lastWords.join('\n')}`));
    });
  });
}

const require = createRequire(import.meta.url);

/** The packages that carry the binary: optional dependencies, of which npm installs the one for its platform. */
const binaries: Readonly<Record<string, string>> = {
  'darwin-arm64': '@foundry-rs/anvil-darwin-arm64/bin/anvil',
  'darwin-x64': '@foundry-rs/anvil-darwin-amd64/bin/anvil',
  'linux-arm64': '@foundry-rs/anvil-linux-arm64/bin/anvil',
  'linux-x64': '@foundry-rs/anvil-linux-amd64/bin/anvil',
  'win32-x64': '@foundry-rs/anvil-win32-amd64/bin/anvil.exe',
};

/**
 * Path of anvil's binary, as its package has it: no install script has to run. Throws if the package is absent.
 */
function anvilBinary(): string {
  const platform = `${process.platform}-${process.arch}`;
  const file = binaries[platform];
  if (file === undefined) throw new Error(`There is no anvil for ${platform}: the local chain can't run here`);
  try {
    return require.resolve(file);
  } catch (cause) {
    throw new Error(`${file} is not installed: npm install --include=optional brings it`, { cause });
  }
}
