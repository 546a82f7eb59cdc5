import { execFileSync, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { until } from '../until.js';

/**
 * Node has no datagram sockets of the Unix domain. Prints each message as a line, and one when it is bound. To close
 * what comes with BARRIER=1 tells its sender that all before it was read.
 */
const RECEIVER = `
import os, socket, sys
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind(sys.argv[1])
print('bound', flush=True)
while True:
    data, barriers, _, _ = socket.recv_fds(receiver, 4096, 8)
    for line in data.decode().splitlines():
        if line != 'BARRIER=1':
            print(line, flush=True)
    for barrier in barriers:
        os.close(barrier)
`;

export interface NotifySocket {
  readonly path: string;
  /** All that came so far. */
  readonly messages: readonly string[];
  close(): Promise<void>;
}

/** Listens as systemd does for its units. */
export async function openNotifySocket(): Promise<NotifySocket> {
  // A path of a socket has at most 107 bytes.
  const directory = await mkdtemp(path.join(tmpdir(), 'notify-'));
  const socket = path.join(directory, 'socket');
  const receiver = spawn('/usr/bin/python3', ['-c', RECEIVER, socket], { stdio: ['ignore', 'pipe', 'inherit'] });
  const messages: string[] = [];
  createInterface({ input: receiver.stdout }).on('line', (line) => messages.push(line));
  await until(() => messages.shift() === 'bound', 10_000);
  const close = async (): Promise<void> => {
    receiver.kill('SIGKILL');
    await rm(directory, { recursive: true });
  };
  return { path: socket, messages, close };
}

function hasNotify(): boolean {
  try {
    execFileSync('systemd-notify', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Why such tests cannot run here; false if they can. */
export const noSystemdNotify = !hasNotify() && 'there is no systemd-notify';
