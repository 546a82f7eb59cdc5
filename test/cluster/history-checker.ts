/** A write that the service acknowledged to a client. Times of all of these: milliseconds of one monotonic clock. */
export interface AcknowledgedWrite {
  readonly quoteId: string;
  /** When the client first sent it, and when the answer came, after however many attempts. */
  readonly startMs: number;
  readonly endMs: number;
}

/** A read of a quote that had been acknowledged before the read was sent. */
export interface ReadAfterWrite {
  readonly quoteId: string;
  readonly gateway: string;
  /** The event that the gateway had to show before it answered; null: the write was acknowledged there. */
  readonly minSeq: string | null;
  readonly isFound: boolean;
}

/** An event as one client read it. */
export interface SeenEvent {
  readonly seq: number;
  /** The event before it, by the server's word. */
  readonly prevSeq: number;
  /** How far the observer had everything before it came, by the server's word: a page's beginning, a heartbeat. */
  readonly completeSeq: number;
  readonly type: string;
  readonly quoteId: string;
  /** All of it but `prevSeq`. */
  readonly text: string;
  readonly atMs: number;
}

/** Everything that one client of the feed saw, in the order in which it came, over all its connections. */
export interface Observation {
  readonly observer: string;
  readonly epochs: ReadonlySet<string>;
  /** It had everything up to this event when it began. */
  readonly fromSeq: number;
  readonly events: readonly SeenEvent[];
  /** How far it had come when the run was over. */
  readonly endSeq: number;
}

/** One reading of the whole book when the run was over: by a gateway's word, from a client's events, from the chain. */
export interface FinalBook {
  readonly source: string;
  readonly hash: string;
  readonly quoteIds: ReadonlySet<string>;
}

export interface RecordedRun {
  readonly writes: readonly AcknowledgedWrite[];
  readonly reads: readonly ReadAfterWrite[];
  readonly observations: readonly Observation[];
  readonly books: readonly FinalBook[];
}

/**
 * Compares what the clients of a cluster recorded with what it promises. Nothing of the service takes part. Returns the
 * promises that were broken, in words:
 *
 * - every acknowledged write is an event at every observer, once, and is in every final book;
 * - each observer's sequence has no gap and nothing twice, and the same number is the same event for all of them;
 * - a write that was acknowledged before another was sent comes before it in the sequence;
 * - no event is seen before its write was sent;
 * - a read that follows an acknowledged write shows it;
 * - all final books have the same hash.
 */
export function checkRun({ writes, reads, observations, books }: RecordedRun): string[] {
  return [
    ...observations.flatMap(checkSequence),
    ...compareObservations(observations),
    ...observations.flatMap((observation) => checkWrites(writes, observation)),
    ...reads.flatMap(checkRead),
    ...compareBooks(writes, books),
  ];
}

function checkSequence({ observer, epochs, fromSeq, events, endSeq }: Observation): string[] {
  const broken: string[] = [];
  if (epochs.size !== 1) broken.push(`${observer} read ${epochs.size} logs`);
  let at = fromSeq;
  for (const { seq, prevSeq, completeSeq } of events) {
    at = Math.max(at, completeSeq);
    if (seq <= at) broken.push(`${observer} saw event ${seq} after event ${at}`);
    if (prevSeq > at) broken.push(`${observer} missed what is between event ${at} and event ${seq}: ${prevSeq}`);
    at = Math.max(at, seq);
  }
  if (endSeq < at) broken.push(`${observer} ended with event ${endSeq} after it had seen ${at}`);
  return broken;
}

function compareObservations(observations: readonly Observation[]): string[] {
  const broken: string[] = [];
  const known = new Map<number, { readonly text: string; readonly observer: string }>();
  for (const { observer, events } of observations) {
    for (const { seq, text } of events) {
      const first = known.get(seq);
      if (first === undefined) known.set(seq, { text, observer });
      else if (first.text !== text) {
        broken.push(`event ${seq} is ${first.text} for ${first.observer} and ${text} for ${observer}`);
      }
    }
  }
  const lastSeq = Math.max(0, ...observations.map(({ endSeq }) => endSeq));
  for (const { observer, fromSeq, events, endSeq } of observations) {
    if (endSeq !== lastSeq) broken.push(`${observer} ended with event ${endSeq}, others with ${lastSeq}`);
    const seen = new Set(events.map(({ seq }) => seq));
    for (const [seq, { observer: other }] of known) {
      if (seq > fromSeq && !seen.has(seq)) broken.push(`${observer} did not see event ${seq}, which ${other} saw`);
    }
  }
  if (new Set(observations.flatMap(({ epochs }) => [...epochs])).size > 1) broken.push('observers read several logs');
  return broken;
}

function checkWrites(writes: readonly AcknowledgedWrite[], { observer, fromSeq, events }: Observation): string[] {
  const broken: string[] = [];
  const posted = new Map<string, SeenEvent[]>();
  for (const event of events) {
    if (event.type === 'POST_QUOTE') posted.set(event.quoteId, [...(posted.get(event.quoteId) ?? []), event]);
  }
  const placed: (AcknowledgedWrite & { readonly seq: number })[] = [];
  for (const write of writes) {
    const [event, ...more] = posted.get(write.quoteId) ?? [];
    if (event === undefined) {
      // What was written before the observer began is in the snapshot that it began with.
      if (fromSeq === 0) broken.push(`quote ${write.quoteId} was acknowledged, and ${observer} saw no event of it`);
      continue;
    }
    if (more.length > 0) broken.push(`quote ${write.quoteId} was posted ${1 + more.length} times at ${observer}`);
    if (event.atMs < write.startMs) broken.push(`${observer} saw quote ${write.quoteId} before it was sent`);
    placed.push({ ...write, seq: event.seq });
  }
  return [...broken, ...checkOrder(placed, observer)];
}

/** A write that ended before another began comes before it. */
function checkOrder(
  placed: readonly (AcknowledgedWrite & { readonly seq: number })[],
  observer: string,
): readonly string[] {
  const broken: string[] = [];
  const byEnd = [...placed].sort((a, b) => a.endMs - b.endMs);
  let ended = 0;
  let highest: (typeof placed)[number] | null = null;
  for (const write of [...placed].sort((a, b) => a.startMs - b.startMs)) {
    for (let next = byEnd[ended]; next !== undefined && next.endMs < write.startMs; next = byEnd[++ended]) {
      if (highest === null || next.seq > highest.seq) highest = next;
    }
    if (highest !== null && highest.seq > write.seq) {
      const { quoteId, seq } = highest;
      broken.push(
        `quote ${quoteId} was acknowledged before ${write.quoteId} was sent, and ${observer} has it later: ` +
          `${seq} after ${write.seq}`,
      );
    }
  }
  return broken;
}

function checkRead({ quoteId, gateway, minSeq, isFound }: ReadAfterWrite): string[] {
  if (isFound) return [];
  const since = minSeq === null ? 'where it had just been acknowledged' : `which has event ${minSeq}`;
  return [`quote ${quoteId} was not at ${gateway}, ${since}`];
}

function compareBooks(writes: readonly AcknowledgedWrite[], books: readonly FinalBook[]): string[] {
  const broken: string[] = [];
  const [first] = books;
  if (first === undefined) return ['there was no final book'];
  for (const { source, hash, quoteIds } of books) {
    if (hash !== first.hash) broken.push(`the book hash of ${source} is ${hash}, of ${first.source} ${first.hash}`);
    for (const { quoteId } of writes) {
      if (!quoteIds.has(quoteId)) broken.push(`quote ${quoteId} was acknowledged, and is not in the book of ${source}`);
    }
  }
  return broken;
}
