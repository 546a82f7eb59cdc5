import t, { type Test } from 'tap';
import { Driver, pick } from './driver.js';
import { NaiveEngine, type EngineUnderTest } from './naive-engine.js';
import { at, enter, newEngine, originAt, quoteIdOf, REORG_DEPTH, sampleQuote, START } from './samples.js';

function behaviours(t: Test, make: () => EngineUnderTest): void {
  const begin = (...deadlines: number[]): Driver => {
    const driver = new Driver(make());
    driver.apply({ type: 'ADVANCE_POSITION', position: at('settlement', 50) });
    for (const [i, deadline] of deadlines.entries()) driver.apply(enter(sampleQuote({ n: i + 1, deadline })));
    return driver;
  };

  t.test('just what is named and due by then goes', async (t) => {
    const driver = begin(START + 5, START + 5, START + 9);
    const quoteIds = [3, 2, 4].map(quoteIdOf);
    const events = driver.apply({ type: 'EXPIRE_QUOTES', second: START + 6, quoteIds });
    t.same(pick(events, 'type', 'quoteId', 'why', 'valid', 'cause'), [
      ['QUOTE_REMOVED', quoteIdOf(2), 'EXPIRED', true, null],
    ]);
    t.same(pick(driver.tickAt(6), 'quoteId'), [[quoteIdOf(1)]]);
    t.equal(driver.engine.get(quoteIdOf(3))?.state, 'live');
  });

  t.test('what is gone already goes without a word', async (t) => {
    const driver = begin(START + 5);
    const quoteId = quoteIdOf(1);
    driver.apply({ type: 'CANCEL_QUOTE', quoteId, origin: originAt(60), position: at('settlement', 60) });
    t.same(driver.apply({ type: 'EXPIRE_QUOTES', second: START + 6, quoteIds: [quoteId] }), []);
    t.equal(driver.engine.get(quoteId), undefined);
  });
}

t.test('engine', async (t) => behaviours(t, () => newEngine()));
t.test('naive engine', async (t) => behaviours(t, () => new NaiveEngine(REORG_DEPTH)));
