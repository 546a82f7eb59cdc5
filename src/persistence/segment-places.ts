/** Bytes of a segment between two places. */
const STEP_BYTES = 256 << 10;
/** Segments whose places are kept: of 32 MiB they have 128 places each, in all some 5 MB. */
const SEGMENTS = 1024;

/** Ends of groups in one segment: where in the file, and the last event up to there. */
class SegmentPlaces {
  readonly #places: { readonly offset: number; readonly seq: number }[] = [];

  /** A byte at which a group begins, every event after `seq` behind it. */
  before(seq: number): number {
    return this.#places.findLast((place) => place.seq <= seq)?.offset ?? 0;
  }

  /** Whoever reads on from one of the places tells of each group that comes. */
  note(offset: number, seq: number): void {
    if (offset >= (this.#places.at(-1)?.offset ?? 0) + STEP_BYTES) this.#places.push({ offset, seq });
  }
}

/**
 * Where in the segments which events are, as far as they have been read: so that a late reader need not begin at the
 * segment's first byte. The segments whose places were asked for last are known.
 */
export class PlacesInSegments {
  /** By the segment's number; the one used last is the last. */
  readonly #bySegment = new Map<number, SegmentPlaces>();

  of(number: number): SegmentPlaces {
    const places = this.#bySegment.get(number) ?? new SegmentPlaces();
    this.#bySegment.delete(number);
    this.#bySegment.set(number, places);
    const [oldest] = this.#bySegment.keys();
    if (this.#bySegment.size > SEGMENTS && oldest !== undefined) this.#bySegment.delete(oldest);
    return places;
  }

  /** Segments below `number` are gone. */
  dropBelow(number: number): void {
    for (const known of this.#bySegment.keys()) if (known < number) this.#bySegment.delete(known);
  }
}
