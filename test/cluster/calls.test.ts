import { setTimeout as pause } from 'node:timers/promises';
import { JetStreamApiError } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import t, { type Test } from 'tap';
import { CallClient, type CallHandlers, CallServer, NoLeader, OutcomeUnknown } from '../../src/cluster/calls.js';
import type { ClusterConnection } from '../../src/cluster/connection.js';
import { LeaderValues } from '../../src/cluster/kept-values.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { until } from '../until.js';
import { connectTo, natsServers } from './nats-servers.js';

const TERM = 7;
const RESEND_MS = 150;
const ENGINE_MS = 1_795_236_215_250;
const REPEATABLE = { timeoutMs: 5_000, retryForMs: 500 };

interface Options {
  readonly handlers: CallHandlers;
  /** Wraps the client's requests. */
  readonly request?: (send: NatsConnection['request']) => NatsConnection['request'];
  readonly isLeaderMissing?: () => boolean;
  /** As the gateway knows it. */
  readonly term?: () => number;
  readonly onEngineTime?: (engineMs: number) => void;
  readonly maxCalls?: number;
  readonly shows?: (index: number) => Promise<void>;
  /** By default, a fault fails the test. */
  readonly onFault?: (error: unknown) => void;
}

async function callsOf(t: Test, options: Options): Promise<CallClient> {
  const { handlers, request, isLeaderMissing = () => false, onEngineTime = () => undefined } = options;
  const { maxCalls = 10, term = () => TERM, shows = () => Promise.resolve() } = options;
  const { onFault = (error: unknown) => void t.error(error) } = options;
  const servers = await natsServers(t, { servers: 1 });
  const server = new CallServer(await connectTo(t, servers, { unsafe: true }), {
    term: TERM,
    handlers,
    index: () => 1,
    engineMs: () => ENGINE_MS,
    maxCalls,
    answerKeptMs: 1_000,
    drainMs: 1_000,
    clock: systemClock,
    onFault,
  });
  t.teardown(() => server.stop());
  const gateway = await connectTo(t, servers, { member: 'gateway-1', unsafe: true });
  const { nats } = gateway;
  await nats.flush();
  const changed: ClusterConnection =
    request === undefined
      ? gateway
      : {
          ...gateway,
          nats: Object.assign(Object.create(nats) as NatsConnection, { request: request(nats.request.bind(nats)) }),
        };
  return new CallClient(changed, {
    clock: systemClock,
    random: systemRandom,
    term,
    isLeaderMissing,
    shows,
    onEngineTime,
    retryMs: 20,
    resendMs: RESEND_MS,
  });
}

/** Counts what a client sends. */
function counted(): { readonly request: NonNullable<Options['request']>; readonly count: number } {
  let count = 0;
  return {
    get count() {
      return count;
    },
    request:
      (send) =>
      (...args) => {
        count += 1;
        return send(...args);
      },
  };
}

t.test('a call whose answer is lost with a connection is sent again, and carried out once', async (t) => {
  let carriedOut = 0;
  let sent = 0;
  const calls = await callsOf(t, {
    handlers: { add: (...args: number[]) => Promise.resolve((carriedOut += args[0] ?? 0)) },
    request: (send) => async (subject, payload, options) => {
      const answer = await send(subject, payload, options);
      sent += 1;
      if (sent > 2) return answer;
      await pause(options?.timeout ?? 0);
      throw new Error('timeout');
    },
  });
  t.equal(await calls.call('add', [3], { timeoutMs: 5_000, retryForMs: 0 }), 3);
  t.equal(sent, 3);
  t.equal(await calls.call('add', [3], { timeoutMs: 5_000, retryForMs: 0 }), 6, 'another call is another');
});

t.test('an answer says the engine time of the leader, before the caller has it', async (t) => {
  const heard: number[] = [];
  const calls = await callsOf(t, {
    handlers: { ask: () => Promise.resolve('answer') },
    onEngineTime: (engineMs) => heard.push(engineMs),
  });
  t.equal(await calls.call('ask', [], REPEATABLE), 'answer');
  t.strictSame(heard, [ENGINE_MS]);
});

t.test('a call that takes longer than the time after which it is sent again is carried out once', async (t) => {
  let carriedOut = 0;
  const sendings = counted();
  const handlers = {
    async slow() {
      carriedOut += 1;
      await until(() => sendings.count === 3);
      return 'done';
    },
  };
  const calls = await callsOf(t, { handlers, request: sendings.request });
  t.equal(await calls.call('slow', [], REPEATABLE), 'done');
  t.equal(carriedOut, 1);
});

t.test('a call that a busy leader refuses is sent again until it is taken', async (t) => {
  let end: () => void = () => undefined;
  let isAsked: () => void = () => undefined;
  const asked = new Promise<void>((resolve) => (isAsked = resolve));
  const handlers = {
    slow: () => (isAsked(), new Promise<void>((resolve) => (end = resolve))),
    add: (...args: number[]) => Promise.resolve((args[0] ?? 0) + 1),
  };
  let refused = 0;
  const request: Options['request'] = (send) => async (subject, payload, options) => {
    const answer = await send(subject, payload, options);
    if (answer.string().includes('isBusy') && (refused += 1) === 3) end();
    return answer;
  };
  const calls = await callsOf(t, { handlers, request, maxCalls: 1 });
  const slow = calls.call('slow', [], REPEATABLE);
  await asked;
  t.equal(await calls.call('add', [3], { timeoutMs: 5_000, retryForMs: 0 }), 4);
  t.ok(refused >= 3, `${refused} times`);
  await t.resolves(slow);
});

t.test('a call under way is carried out once, however many calls are answered meanwhile', async (t) => {
  let carriedOut = 0;
  let end: () => void = () => undefined;
  const sendings = counted();
  const handlers = {
    slow: () => new Promise<number>((resolve) => (end = () => resolve((carriedOut += 1)))),
    add: (...args: number[]) => Promise.resolve((args[0] ?? 0) + 1),
  };
  const calls = await callsOf(t, { handlers, maxCalls: 2, request: sendings.request });
  const slow = calls.call('slow', [], REPEATABLE);
  for (const n of [1, 2, 3]) t.equal(await calls.call('add', [n], REPEATABLE), n + 1);
  const endFirst = end;
  const before = sendings.count;
  await until(() => sendings.count >= before + 2);
  t.equal(end, endFirst, 'and was not begun again');
  end();
  t.equal(await slow, 1);
});

t.test('calls end in time when the leader falls silent', async (t) => {
  let isMissing = false;
  let end: () => void = () => undefined;
  const handlers = { slow: () => new Promise<void>((resolve) => (end = resolve)) };
  const calls = await callsOf(t, { handlers, isLeaderMissing: () => isMissing });
  const startMs = performance.now();
  const called = calls.call('slow', [], REPEATABLE);
  isMissing = true;
  await t.rejects(called, OutcomeUnknown);
  t.ok(performance.now() - startMs < REPEATABLE.timeoutMs, 'long before its answer would be too late');
  end();
});

/** What a call rejects with. */
async function failureOf(called: Promise<unknown>): Promise<unknown> {
  return called.then(
    () => null,
    (error: unknown) => error,
  );
}

t.test('the outcome of a call is unknown once a leader may have it, whatever comes of sending it again', async (t) => {
  let isMissing = false;
  let sent = 0;
  const calls = await callsOf(t, {
    handlers: { pay: () => Promise.resolve() },
    isLeaderMissing: () => isMissing,
    request: (send) => async (subject, payload, options) => {
      sent += 1;
      if (sent === 1) throw new Error('the connection is lost');
      isMissing = true;
      return send(`${subject}.nobody`, payload, options);
    },
  });
  const failure = await failureOf(calls.call('pay', [], { timeoutMs: 5_000, retryForMs: 0 }));
  t.equal(sent, 2);
  t.ok(failure instanceof OutcomeUnknown, String(failure));
});

t.test('a call that no leader has received was not carried out', async (t) => {
  let isMissing = true;
  const handlers = { pay: () => Promise.resolve() };
  const request: Options['request'] = (send) => async (subject, payload, options) => {
    isMissing = true;
    return send(`${subject}.nobody`, payload, options);
  };
  const calls = await callsOf(t, { handlers, request, isLeaderMissing: () => isMissing });
  for (const missing of [true, false]) {
    isMissing = missing;
    const failure = await failureOf(calls.call('pay', [], { timeoutMs: 5_000, retryForMs: 0 }));
    t.ok(failure instanceof NoLeader && !(failure instanceof OutcomeUnknown), String(failure));
  }
});

t.test('a call for one leader alone is not sent to one whose term begins meanwhile', async (t) => {
  let term = TERM - 1;
  let carriedOut = 0;
  const calls = await callsOf(t, {
    handlers: { pay: () => Promise.resolve((carriedOut += 1)) },
    term: () => term,
    request: (send) => async (subject, payload, options) => {
      if (term === TERM) return send(subject, payload, options);
      // In the pause before it would be sent again.
      setTimeout(() => (term = TERM), 1);
      throw new Error('the connection is lost');
    },
  });
  const failure = await failureOf(calls.call('pay', [], { timeoutMs: 5_000, retryForMs: 0 }));
  t.ok(failure instanceof OutcomeUnknown, String(failure));
  t.equal(carriedOut, 0);
});

t.test('an answer whose records never come ends in time', async (t) => {
  const asked = { count: 0 };
  let isMissing = false;
  let term = TERM;
  const calls = await callsOf(t, {
    handlers: { pay: () => Promise.resolve() },
    isLeaderMissing: () => isMissing,
    term: () => term,
    shows: () => ((asked.count += 1), new Promise(() => undefined)),
  });
  const late = await failureOf(calls.call('pay', [], { timeoutMs: 400, retryForMs: 0 }));
  t.ok(late instanceof OutcomeUnknown, `its time has passed: ${String(late)}`);
  const begun = failureOf(calls.call('pay', [], { timeoutMs: 60_000, retryForMs: 0 }));
  await until(() => asked.count === 2);
  isMissing = true;
  t.ok((await begun) instanceof OutcomeUnknown, 'the leader is silent');
  isMissing = false;
  const deposed = failureOf(calls.call('pay', [], { timeoutMs: 60_000, retryForMs: 0 }));
  await until(() => asked.count === 3);
  term += 1;
  calls.termBegan();
  t.ok((await deposed) instanceof OutcomeUnknown, 'another term has begun');
});

t.test('what is more than a message may have fails at once, and the leader goes on', async (t) => {
  const large = 'x'.repeat(9 << 20);
  const faults: unknown[] = [];
  const sendings = counted();
  const calls = await callsOf(t, {
    handlers: { answer: () => Promise.resolve(large), add: (...args: number[]) => Promise.resolve((args[0] ?? 0) + 1) },
    request: sendings.request,
    onFault: (error) => faults.push(error),
  });
  await t.rejects(calls.call('answer', [], REPEATABLE), { message: 'Internal error of the leader' });
  t.match(faults, [/max_payload/i]);
  const before = sendings.count;
  await t.rejects(calls.call('add', [large], { timeoutMs: 60_000, retryForMs: 0 }), /max_payload/i);
  t.equal(sendings.count, before + 1);
  t.equal(await calls.call('add', [3], REPEATABLE), 4);
});

/** JetStream may refuse for a moment after its servers say that they are healthy. */
async function openedValues(leader: ClusterConnection, onFault: (error: Error) => void): Promise<LeaderValues> {
  for (;;) {
    try {
      return await LeaderValues.open(leader, TERM, systemClock, 20, onFault);
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) throw error;
      await pause(50);
    }
  }
}

t.test('a stop waits for a quorum that is gone no longer than it may, and answers nothing afterwards', async (t) => {
  const DRAIN_MS = 700;
  const CALL_MS = 4_000;
  const servers = await natsServers(t);
  // The first node stays, and both members have their connections there.
  const [staying, ...others] = servers.nodes;
  const atTheFirst = { servers: [staying?.url ?? ''] };
  const leader = await connectTo(t, servers, { ...atTheFirst, callMs: 300 });
  const values = await openedValues(leader, (error) => t.error(error));
  const writes: Promise<void>[] = [];
  const server = new CallServer(leader, {
    term: TERM,
    handlers: {
      // As intents of transactions are: written again until most of the servers have them.
      write: (value: string) => {
        const written = values.of('budgets').put('spent', value);
        writes.push(written);
        return written;
      },
    },
    index: () => 1,
    engineMs: () => ENGINE_MS,
    maxCalls: 10,
    answerKeptMs: 1_000,
    drainMs: DRAIN_MS,
    clock: systemClock,
    onFault: (error) => void t.error(error),
  });
  const gateway = await connectTo(t, servers, { ...atTheFirst, member: 'gateway-1' });
  await leader.nats.flush();
  const calls = new CallClient(gateway, {
    clock: systemClock,
    random: systemRandom,
    term: () => TERM,
    isLeaderMissing: () => false,
    shows: () => Promise.resolve(),
    onEngineTime: () => undefined,
    retryMs: 20,
    resendMs: RESEND_MS,
  });
  await calls.call('write', ['before'], REPEATABLE);
  for (const node of others) await node.kill('SIGKILL');
  const waiting = calls.call('write', ['after'], { timeoutMs: CALL_MS, retryForMs: 0 });
  waiting.catch(() => undefined);
  while (writes.length < 2) await pause(20);
  const startMs = performance.now();
  await server.stop();
  const tookMs = performance.now() - startMs;
  t.ok(tookMs >= DRAIN_MS - 50, `it waited for the call: ${tookMs} ms`);
  t.ok(tookMs < CALL_MS, `and stopped all the same: ${tookMs} ms`);
  // With the quorum the write succeeds, and its answer goes nowhere.
  for (const node of others) node.start();
  await servers.ready();
  await t.resolves(Promise.all(writes));
  await t.rejects(waiting, OutcomeUnknown);
});
