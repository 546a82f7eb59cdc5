import { KeyStore } from '../../src/auth/key-store.js';
import { ClusterKeyFiles } from '../../src/cluster/kept-values.js';
import { type ChainNews, publishNews } from '../../src/cluster/members.js';
import { limits } from '../../src/config/limits.js';
import type { Quote } from '../../src/engine/quote.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { answerQuestions } from '../processes/answer-questions.js';
import { START_SECONDS } from '../workload/quotes.js';
import { publishedQuotes } from '../workload/published-quotes.js';
import { enterCommand } from './chains-at-once.js';
import type { GatewayPlace } from './gateway.js';
import { connectMember, startNats } from './nats-servers.js';
import { leadStream } from './stream-leader.js';
import { publishCommitted, type PublishDialogue } from './publish-schedule.js';

export interface LeaderDialogue extends PublishDialogue {
  /** Where a gateway of that name finds this cluster. */
  PLACE: { given: { readonly member: string }; answer: GatewayPlace };
  /** Of all gateways. */
  KEY: { given: null; answer: string };
}

const NEWS_MS = 500;
const healthy: ChainNews = { head: null, stale: null, failure: null, readTo: null };

/** Three NATS servers and the leader of their log stream: everything of a cluster but its gateways. */
const servers = await startNats();
const leader = await leadStream(servers);
const admin = await connectMember(servers, { member: 'admin' });
const keys = await KeyStore.open({
  files: await ClusterKeyFiles.open(admin),
  clock: systemClock,
  random: systemRandom,
  cacheSize: limits.keyCache,
});
const { key } = await keys.create('paid', 'bench');
const stopNews = publishNews(leader.cluster, systemClock, NEWS_MS, () => ({
  member: 'engine-1',
  term: leader.term,
  seq: leader.acknowledgedSeq(),
  group: 0,
  engineMs: START_SECONDS * 1000,
  caughtUp: true,
  refusal: null,
  chains: { settlement: healthy, stream: healthy },
  wallet: null,
}));
let onCommit: (index: number) => void = () => undefined;
leader.onCommit((index) => onCommit(index));
let readyQuotes: readonly Quote[] = [];

answerQuestions<LeaderDialogue>(
  {
    PLACE: ({ member }) => ({
      servers: servers.nodes.map(({ url }) => url),
      monitors: servers.nodes.map(({ monitorUrl }) => monitorUrl),
      deployment: leader.cluster.options.deployment,
      member,
    }),
    KEY: () => key,
    READY(schedule) {
      readyQuotes = publishedQuotes(schedule);
      return null;
    },
    PUBLISH: (schedule) =>
      publishCommitted(schedule, readyQuotes, {
        index: () => leader.engine.index,
        listen: (listener) => (onCommit = listener),
        enter: (quote) => leader.submit(enterCommand(quote)),
      }),
  },
  async () => {
    stopNews();
    keys.close();
    await admin.close();
    await leader.close();
    await servers.stop();
  },
);
