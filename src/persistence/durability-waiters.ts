interface Waiter {
  readonly frames: number;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** Who waits for what to be durable. What is waited for is a count: frames since the log was opened. */
export class DurabilityWaiters {
  #durableFrames = 0;
  #waiters: Waiter[] = [];

  get isEmpty(): boolean {
    return this.#waiters.length === 0;
  }

  isDurable(frames: number): boolean {
    return frames <= this.#durableFrames;
  }

  /** Whether somebody waits for so many frames or fewer. */
  isAnyWithin(frames: number): boolean {
    return this.#waiters.some((waiter) => waiter.frames <= frames);
  }

  /** Resolves when so many frames are durable; rejects when the log fails before. */
  until(frames: number): Promise<void> {
    if (this.isDurable(frames)) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.push({ frames, resolve, reject }));
  }

  /** So many frames are durable. */
  settle(frames: number): void {
    this.#durableFrames = frames;
    if (this.isEmpty) return;
    const waiting = this.#waiters;
    this.#waiters = waiting.filter((waiter) => waiter.frames > frames);
    for (const waiter of waiting) if (waiter.frames <= frames) waiter.resolve();
  }

  fail(error: Error): void {
    const waiting = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiting) waiter.reject(error);
  }
}
