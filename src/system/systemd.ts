import { type ChildProcess, spawn } from 'node:child_process';
import type { CancelTimer, Clock } from '../engine/ports.js';

/**
 * Sends each line of its input with `systemd-notify`. A unit's stop sends SIGTERM to all of its processes: this one has
 * to outlive it, for STOPPING=1. It ends with its input.
 */
const RELAY = `trap '' TERM INT; while read -r state; do systemd-notify "$state"; done`;

/** Messages of the process to the service manager that started it (sd_notify(3)). */
export interface ServiceManager {
  /** The service takes requests. The watchdog is fed from now on, as long as `makesProgress` holds. */
  ready(makesProgress: () => boolean): void;
  /** One line for `systemctl status`. */
  status(text: string): void;
  /** A stop has begun. */
  stopping(): void;
  /** Nothing is said any more. Resolves when all that was said has been sent. */
  close(): Promise<void>;
}

type Environment = Readonly<Partial<Record<string, string>>>;

/**
 * The service manager that the environment names (`NOTIFY_SOCKET`); null without one. Its socket takes datagrams, for
 * which Node has no API, so a shell that runs as long as this process relays each message to `systemd-notify`. It is
 * started early: a fork of a process with a large heap stops it for milliseconds.
 */
export function openServiceManager(
  environment: Environment,
  clock: Pick<Clock, 'after'>,
  onFailure: (error: Error) => void,
): ServiceManager | null {
  if (environment.NOTIFY_SOCKET === undefined) return null;
  const { PATH, NOTIFY_SOCKET } = environment;
  const relay = spawn('/bin/sh', ['-c', RELAY], { stdio: ['pipe', 'ignore', 'inherit'], env: { PATH, NOTIFY_SOCKET } });
  return new SystemdManager(relay, watchdogMs(environment), clock, onFailure);
}

/** Half of the time that the watchdog allows, as sd_watchdog_enabled(3) advises; null: this process has no watchdog. */
function watchdogMs({ WATCHDOG_USEC: allowed, WATCHDOG_PID: pid }: Environment): number | null {
  if (allowed === undefined || !/^[1-9][0-9]*$/.test(allowed)) return null;
  return pid === undefined || Number(pid) === process.pid ? Number(allowed) / 2_000 : null;
}

class SystemdManager implements ServiceManager {
  readonly #ended: Promise<void>;
  #cancelTimer: CancelTimer = () => undefined;
  #isClosed = false;

  constructor(
    private readonly relay: ChildProcess,
    private readonly feedMs: number | null,
    private readonly clock: Pick<Clock, 'after'>,
    onFailure: (error: Error) => void,
  ) {
    this.#ended = new Promise((resolve) => {
      relay.on('error', (error) => {
        onFailure(error);
        resolve();
      });
      relay.on('exit', (code, signal) => {
        if (!this.#isClosed) onFailure(new Error(`The relay to systemd ended with ${signal ?? String(code)}`));
        resolve();
      });
    });
    // A write to a relay that is gone fails here; its end was reported.
    relay.stdin?.on('error', () => undefined);
  }

  ready(makesProgress: () => boolean): void {
    this.#send('READY=1');
    const feed = (): void => {
      if (makesProgress()) this.#send('WATCHDOG=1');
      if (this.feedMs !== null) this.#cancelTimer = this.clock.after(this.feedMs, feed);
    };
    if (this.feedMs !== null) feed();
  }

  status(text: string): void {
    this.#send(`STATUS=${text}`);
  }

  stopping(): void {
    this.#send('STOPPING=1');
  }

  close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer();
    this.relay.stdin?.end();
    return this.#ended;
  }

  #send(state: string): void {
    if (!this.#isClosed) this.relay.stdin?.write(`${state}\n`);
  }
}

/**
 * Whether the log still commits, asked about once in a while: all that was applied is durable, or something has become
 * durable since the last question, or the log takes nothing, as while the disk is full.
 */
export function logProgress(log: {
  /** The last record that was applied, and the last one that is durable. */
  readonly applied: () => number;
  readonly durable: () => number;
  readonly isRefusing: () => boolean;
}): () => boolean {
  let before = -1;
  return () => {
    const durable = log.durable();
    const makesProgress = durable !== before || durable >= log.applied() || log.isRefusing();
    before = durable;
    return makesProgress;
  };
}
