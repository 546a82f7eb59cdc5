import { startGateway } from '../../src/app/gateway-process.js';
import { connectCluster } from '../../src/cluster/connection.js';
import { effectiveLimits } from '../../src/config/effective-limits.js';
import { type Settings, settingNames, settingTable } from '../../src/config/setting-table.js';
import { answerQuestions, serverAnswers } from '../processes/answer-questions.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { profileAtOnce, rpcOfNobody } from './chains-at-once.js';
import { plainOptions } from './plain-options.js';

/** Where a gateway finds its cluster; the process's argument, in JSON. */
export interface GatewayPlace {
  readonly servers: readonly string[];
  readonly monitors: readonly string[];
  readonly deployment: string;
  readonly member: string;
}

const CALL_MS = 5_000;
const MANY = 1_000_000;
const place = JSON.parse(process.argv[2] ?? '') as GatewayPlace;
/** Limits of one address and one key are lifted: they are not measured. */
const settings = {
  ...Object.fromEntries(settingNames.map((name) => [name, settingTable[name].default])),
  wsConnections: MANY,
  wsConnectionsPerAddress: MANY,
  paidConnections: MANY,
  paidChannels: MANY,
  paidMessagesPerSecond: MANY,
  paidRowsPerSecond: MANY,
  host: '127.0.0.1',
  port: 0,
} as unknown as Settings;
const cluster = await connectCluster({ ...place, unsafe: false, callMs: CALL_MS });
const gateway = await startGateway({
  ...plainOptions,
  settings,
  profile: profileAtOnce,
  rpc: { settlement: rpcOfNobody, stream: rpcOfNobody },
  // Nobody answers pings.
  limits: { ...effectiveLimits(settings), wsIdleSeconds: 960 },
  cluster,
  version: 'bench',
  page: { files: [], localKey: null },
  spareDescriptors: () => MANY,
});
await gateway.service.ready;

answerQuestions<ServerDialogue>(serverAnswers(gateway.service.port), async () => {
  await gateway.stop();
  await cluster.close();
});
