import t from 'tap';
import { PlacesInSegments } from '../../src/persistence/segment-places.js';

/** Far enough apart for each to be kept. */
const APART_BYTES = 256 << 10;

t.test('a reader begins at the last place that has all events after its own behind it', async (t) => {
  const places = new PlacesInSegments().of(1);
  places.note(APART_BYTES, 10);
  places.note(APART_BYTES + 1, 11);
  places.note(2 * APART_BYTES, 20);
  t.strictSame(
    [0, 9, 10, 11, 19, 20, 1000].map((seq) => places.before(seq) / APART_BYTES),
    [0, 0, 1, 1, 1, 2, 2],
  );
});

t.test('those of the segments that were asked for last are kept, and none of a segment that is gone', async (t) => {
  const places = new PlacesInSegments();
  const isKnown = (number: number): boolean => places.of(number).before(1) > 0;
  for (let number = 1; number <= 1024; number += 1) places.of(number).note(APART_BYTES, 1);
  t.ok(isKnown(1));
  places.of(1025);
  t.ok(isKnown(1), 'it was asked for a moment ago');
  t.notOk(isKnown(2));
  places.dropBelow(2);
  t.notOk(isKnown(1));
});
