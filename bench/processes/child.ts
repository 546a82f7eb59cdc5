import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import type { Answer, Dialogue, Question } from './dialogue.js';

interface Asked {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** So many characters at the end of its stderr are part of the error of a process that ended. */
const SAID = 2_000;

/** A process of the bench, and the questions put to it. */
export class Child<D extends Dialogue<D>> {
  readonly #process: ChildProcess;
  readonly #asked = new Map<number, Asked>();
  #count = 0;
  /** The end of what it wrote to stderr: it says why it ended. */
  #said = '';

  /** `module` answers with `answerQuestions`; `args` are its `process.argv` from 2 on. */
  constructor(module: URL, args: readonly string[] = [], execArgv: readonly string[] = []) {
    this.#process = fork(module, args, {
      serialization: 'advanced',
      execArgv: [...execArgv],
      stdio: ['inherit', 'inherit', 'pipe', 'ipc'],
    });
    this.#process.stderr?.on('data', (part: Buffer) => {
      process.stderr.write(part);
      this.#said = (this.#said + part.toString()).slice(-SAID);
    });
    this.#process.on('message', ({ id, value, failure }: Answer) => {
      const asked = this.#asked.get(id);
      this.#asked.delete(id);
      if (failure === undefined) asked?.resolve(value);
      else asked?.reject(new Error(failure));
    });
    // After its last word, which `exit` may come before.
    this.#process.on('close', (code, signal) => {
      const ended = `${module.href} ended: ${code ?? signal}\n${this.#said}`;
      for (const { reject } of this.#asked.values()) reject(new Error(ended));
      this.#asked.clear();
    });
  }

  ask<Name extends keyof D & string>(name: Name, given: D[Name]['given']): Promise<D[Name]['answer']> {
    const id = this.#count++;
    return new Promise((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      const question: Question = { id, name, given };
      this.#process.send(question, (error) => error && reject(error));
    });
  }

  /** Resolves when the process is gone. */
  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, 'exit');
    this.#process.kill('SIGTERM');
    await gone;
  }
}

/** Runs `task` with children that are gone when it resolves. */
export async function withChildren<C extends readonly { stop(): Promise<void> }[], T>(
  children: C,
  task: (...children: C) => Promise<T>,
): Promise<T> {
  try {
    return await task(...children);
  } finally {
    await Promise.all(children.map((child) => child.stop()));
  }
}
