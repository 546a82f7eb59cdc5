import t from 'tap';
import { EndpointPool } from '../../../src/chain/rpc/endpoint-pool.js';

const DOUBT_MS = 1000;

t.test('the switches show that another endpoint answered in between', (t) => {
  const endpoints = new EndpointPool(['first', 'second'], DOUBT_MS);
  const seen = [endpoints.switches];
  for (let moves = 0; moves < 2; moves += 1) {
    const { current } = endpoints;
    if (current !== undefined) endpoints.moveOnFrom(current, 0);
    seen.push(endpoints.switches);
  }
  t.equal(endpoints.currentNumber, 0);
  t.equal(new Set(seen).size, 3);
  t.end();
});

t.test('a return to the preferred endpoint is a switch, staying with it is not', (t) => {
  const endpoints = new EndpointPool(['first', 'second'], DOUBT_MS);
  const { current: first } = endpoints;
  if (first === undefined) throw new Error('there are two');
  endpoints.returnTo(first, 0);
  t.equal(endpoints.switches, 0);
  endpoints.moveOnFrom(first, 0);
  const away = endpoints.switches;
  endpoints.returnTo(first, 0);
  t.not(endpoints.switches, away);
  t.equal(endpoints.current, first);
  t.end();
});

t.test('so is the end of a pause, in which another one stood in for the current', (t) => {
  const endpoints = new EndpointPool(['first', 'second'], DOUBT_MS);
  const { current: first } = endpoints;
  if (first === undefined) throw new Error('there are two');
  first.restUntilMs = 500;
  const seen = [endpoints.switches];
  t.equal(endpoints.ready(0)?.url, 'second');
  seen.push(endpoints.switches);
  const standIn = endpoints.ready(498);
  t.equal(standIn?.url, 'second');
  if (standIn !== undefined) endpoints.moveOnFrom(standIn, 498);
  t.equal(endpoints.ready(499)?.url, 'second');
  t.equal(endpoints.switches, seen[1], 'the same one stands in, whatever it failed at');
  t.equal(endpoints.ready(500)?.url, 'first');
  seen.push(endpoints.switches);
  t.equal(new Set(seen).size, 3);
  t.end();
});

t.test('an endpoint that fails again soon after it came back is left alone for longer each time', (t) => {
  const endpoints = new EndpointPool(['first', 'second'], DOUBT_MS);
  let nowMs = 0;
  /** Comes back as soon as it is looked at again; how long that took. */
  const failAfter = (wellMs: number): number => {
    nowMs += wellMs;
    const failedMs = nowMs;
    const { current } = endpoints;
    if (current?.url !== 'first') throw new Error('the first is in use');
    // Of requests that fail together only the first counts.
    for (let failed = 0; failed < 3; failed += 1) endpoints.moveOnFrom(current, nowMs);
    while (endpoints.toProbe(nowMs) === undefined) nowMs += DOUBT_MS / 2;
    endpoints.returnTo(current, nowMs);
    return (nowMs - failedMs) / DOUBT_MS;
  };
  t.strictSame([5000, 900, 1900, 0, 0, 0].map(failAfter), [1, 2, 4, 8, 16, 16]);
  t.equal(failAfter(16 * DOUBT_MS + 1), 1, 'it has been well for long enough');
  t.end();
});

t.test('another one is the next that has not failed lately, else the current', (t) => {
  const endpoints = new EndpointPool(['first', 'second', 'third'], DOUBT_MS);
  t.equal(endpoints.another(0)?.url, 'second');
  const { current: first } = endpoints;
  if (first !== undefined) endpoints.moveOnFrom(first, 0);
  t.equal(endpoints.another(0)?.url, 'third', 'the first has just failed');
  t.equal(new EndpointPool(['alone'], DOUBT_MS).another(0)?.url, 'alone');
  t.equal(endpoints.switches, 1, 'to ask it is no switch');
  t.end();
});
