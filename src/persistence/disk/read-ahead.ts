import type { Disk } from './disk.js';

/** Holds one file's content at a time; the memory stays for the next one. */
class Held {
  #memory = Buffer.alloc(0);

  /** The whole file, valid until the next call. */
  async read(disk: Disk, name: string): Promise<Buffer> {
    const file = await disk.open(name, 'read');
    try {
      const bytes = await file.size();
      if (this.#memory.length < bytes) this.#memory = Buffer.allocUnsafeSlow(bytes);
      const content = this.#memory.subarray(0, bytes);
      return content.subarray(0, await file.read(content, 0));
    } finally {
      await file.close();
    }
  }
}

/**
 * The whole of each file, in order; the next one is read while one is looked at. Each is valid until the next is asked
 * for. All of them share the memory of two: with fresh memory for each, a log of 500 MB has the collector run 17 times
 * for nothing else.
 */
export async function* readAhead(disk: Disk, names: Iterable<string> | AsyncIterable<string>): AsyncGenerator<Buffer> {
  let [held, other] = [new Held(), new Held()];
  const left = Symbol.asyncIterator in names ? names[Symbol.asyncIterator]() : names[Symbol.iterator]();
  const next = async (): Promise<Buffer | null> => {
    const name = await left.next();
    if (name.done === true) return null;
    const reading = held.read(disk, name.value);
    [held, other] = [other, held];
    return reading;
  };
  const begin = (): Promise<Buffer | null> => {
    const reading = next();
    // It is waited for further down; until then nobody is there to hear that it failed.
    reading.catch(() => undefined);
    return reading;
  };
  let reading = begin();
  try {
    for (let content = await reading; content !== null; content = await reading) {
      reading = begin();
      yield content;
    }
  } finally {
    await reading.catch(() => undefined);
  }
}
