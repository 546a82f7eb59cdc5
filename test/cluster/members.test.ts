import t from 'tap';
import { answerRoll, callRoll, hearNews, type LeaderNews, publishNews } from '../../src/cluster/members.js';
import { ManualClock } from '../system/manual-clock.js';
import { connectTo, natsServers } from './nats-servers.js';

const PERIOD_MS = 500;
const ROLL_MS = 300;
const chain = { head: null, stale: null, failure: null, readTo: null };
const news: LeaderNews = {
  member: 'engine-1',
  term: 1,
  seq: 1,
  group: 0,
  engineMs: 1_795_236_215_250,
  caughtUp: true,
  refusal: null,
  chains: { settlement: chain, stream: chain },
  wallet: null,
};

t.test('messages that are no news are passed over, and the next news is heard', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const gateway = await connectTo(t, servers, { member: 'gateway-1', unsafe: true });
  const leader = await connectTo(t, servers, { member: 'engine-1', unsafe: true });
  const heard: LeaderNews[] = [];
  let isHeard: () => void = () => undefined;
  const last = new Promise<void>((resolve) => (isHeard = resolve));
  t.teardown(
    hearNews(gateway, (each) => {
      heard.push(each);
      if (heard.length === 2) isHeard();
    }),
  );
  await gateway.nats.flush();
  const { chains, ...rest } = news;
  for (const message of [
    null,
    7,
    'text',
    [],
    {},
    rest,
    { ...news, seq: '1' },
    { ...news, chains: { stream: chain } },
  ]) {
    leader.nats.publish(leader.names.status, JSON.stringify(message));
  }
  leader.nats.publish(leader.names.status, 'no JSON');
  const clock = new ManualClock();
  t.teardown(publishNews(leader, clock, PERIOD_MS, () => ({ ...news, chains })));
  clock.advance(PERIOD_MS);
  await last;
  t.strictSame(heard, [news, news], 'once at the start, and once a period');
});

t.test('a roll call lists the members, whatever else answers', async (t) => {
  const servers = await natsServers(t, { servers: 1 });
  const caller = await connectTo(t, servers, { member: 'admin', unsafe: true });
  const member = await connectTo(t, servers, { member: 'engine-1', unsafe: true });
  t.strictSame(await callRoll(caller, ROLL_MS), []);
  const info = { member: 'engine-1', role: 'leader', term: 1, index: 2, lag: 0, version: 'test' } as const;
  t.teardown(answerRoll(member, () => info));
  member.nats.subscribe(member.names.roll, { callback: (_, message) => void message.respond('no JSON') });
  await member.nats.flush();
  t.strictSame(await callRoll(caller, ROLL_MS), [info]);
});
