import t from 'tap';
import { RpcEndpoints } from '../../src/chain/rpc-endpoints.js';

const DOUBT_MS = 1000;

t.test('whoever comes back to an endpoint sees that another one answered meanwhile', (t) => {
  const endpoints = new RpcEndpoints(['first', 'second'], DOUBT_MS);
  const turns = [endpoints.turn];
  for (let moves = 0; moves < 2; moves += 1) {
    const { current } = endpoints;
    if (current !== undefined) endpoints.moveOnFrom(current, 0);
    turns.push(endpoints.turn);
  }
  t.equal(endpoints.currentNumber, 0);
  t.equal(new Set(turns).size, 3);
  t.end();
});

t.test('a return to the preferred endpoint is a turn, staying with it is none', (t) => {
  const endpoints = new RpcEndpoints(['first', 'second'], DOUBT_MS);
  const { current: first } = endpoints;
  if (first === undefined) throw new Error('there are two');
  endpoints.returnTo(first);
  t.equal(endpoints.turn, 0);
  endpoints.moveOnFrom(first, 0);
  const away = endpoints.turn;
  endpoints.returnTo(first);
  t.not(endpoints.turn, away);
  t.equal(endpoints.current, first);
  t.end();
});

t.test('so is the end of a pause, in which another one stood in for the current', (t) => {
  const endpoints = new RpcEndpoints(['first', 'second'], DOUBT_MS);
  const { current: first } = endpoints;
  if (first === undefined) throw new Error('there are two');
  first.restUntilMs = 500;
  const turns = [endpoints.turn];
  t.equal(endpoints.ready(0)?.url, 'second');
  turns.push(endpoints.turn);
  const standIn = endpoints.ready(498);
  t.equal(standIn?.url, 'second');
  if (standIn !== undefined) endpoints.moveOnFrom(standIn, 498);
  t.equal(endpoints.ready(499)?.url, 'second');
  t.equal(endpoints.turn, turns[1], 'the same one stands in, whatever it failed at');
  t.equal(endpoints.ready(500)?.url, 'first');
  turns.push(endpoints.turn);
  t.equal(new Set(turns).size, 3);
  t.end();
});
