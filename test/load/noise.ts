import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { NoiseMade, NoiseTask } from './noisy-clients.js';

/** The process of the noisy clients, seen from the test. */
export class Noise {
  readonly #child: ChildProcess;

  constructor(task: NoiseTask) {
    this.#child = fork(fileURLToPath(new URL('./noisy-clients.js', import.meta.url)));
    this.#child.send(task);
  }

  begin(): void {
    this.#child.send('begin');
  }

  async end(): Promise<NoiseMade> {
    this.#child.send('end');
    const [made] = (await once(this.#child, 'message')) as [NoiseMade];
    return made;
  }

  stop(): void {
    this.#child.kill('SIGKILL');
  }
}
