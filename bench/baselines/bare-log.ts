import { open, type FileHandle } from 'node:fs/promises';

/**
 * A file that bytes are written to and forced to the disk, and nothing else. Its room is taken beforehand, as our log
 * takes its own.
 */
export class BareLog {
  #offset = 0;

  static async open(path: string, bytes: number): Promise<BareLog> {
    const file = await open(path, 'w');
    const zeros = Buffer.alloc(1 << 20);
    for (let at = 0; at < bytes; at += zeros.length) await file.write(zeros, 0, zeros.length, at);
    await file.sync();
    return new BareLog(file, bytes);
  }

  private constructor(
    private readonly file: FileHandle,
    private readonly capacity: number,
  ) {}

  async commit(bytes: Buffer): Promise<void> {
    if (this.#offset + bytes.length > this.capacity) this.#offset = 0;
    await this.file.write(bytes, 0, bytes.length, this.#offset);
    await this.file.datasync();
    this.#offset += bytes.length;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
