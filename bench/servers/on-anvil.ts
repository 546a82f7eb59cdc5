import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { rpcOptions } from '../../src/app/chain-wiring.js';
import { startService } from '../../src/app/service.js';
import { DiskKeyFiles } from '../../src/auth/disk-key-files.js';
import { KeyStore } from '../../src/auth/key-store.js';
import type { ChainProfile } from '../../src/chain/contracts/deployments.js';
import { startLocalChain } from '../../src/chain/dev/local-chain.js';
import { HttpRpc } from '../../src/chain/rpc/rpc-client.js';
import { IntentLog } from '../../src/chain/wallet/intent-log.js';
import { limits, tierQuotas } from '../../src/config/limits.js';
import type { Hex, Pool } from '../../src/engine/quote.js';
import { lockFile } from '../../src/persistence/disk/file-lock.js';
import { JsonStore } from '../../src/persistence/disk/json-store.js';
import { openNodeDisk } from '../../src/persistence/disk/node-disk.js';
import { systemClock, systemRandom } from '../../src/system/clock.js';
import { answerQuestions, serverAnswers } from '../processes/answer-questions.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import { openBenchLog, silent } from '../workload/log.js';
import { plainOptions } from './plain-options.js';

/** Where the chain is, and who trades on it. */
export interface AnvilSetup {
  readonly rpcUrl: string;
  readonly orderbookStream: Hex;
  /** Address of one that makers offer with. */
  readonly token: Hex;
  /** The first is the operator's. */
  readonly accounts: readonly { readonly address: Hex; readonly privateKey: Hex }[];
  readonly pools: readonly Pool[];
}

export interface AnvilDialogue extends ServerDialogue {
  KEY: { given: null; answer: string };
  SETUP: { given: null; answer: AnvilSetup };
  /** Answers of the node to this service since its start. */
  RPC_CALLS: { given: null; answer: number };
}

/**
 * The whole service on a chain of its own, with nothing replaced; the chain's own process is anvil's. With the argument
 * `polling` it does not subscribe to the chain.
 */
const dataDir = await mkdtemp(path.join(tmpdir(), 'quotebook-bench-'));
const chain = await startLocalChain();
const log = await openBenchLog(path.join(dataDir, 'log'), true);
const keys = await KeyStore.open({
  files: new DiskKeyFiles(dataDir, systemClock, limits.keyUpdateMs, lockFile),
  clock: systemClock,
  random: systemRandom,
  cacheSize: limits.keyCache,
});
const { key } = await keys.create('paid', 'bench');
let rpcAnswers = 0;
const rpc = ({ rpcUrls, chainId }: ChainProfile) =>
  new HttpRpc(
    rpcUrls,
    chainId,
    rpcOptions(limits),
    systemClock,
    systemRandom,
    () => undefined,
    () => (rpcAnswers += 1),
  );
const subscribed = chain.profile;
const polling = {
  ...subscribed,
  settlement: { ...subscribed.settlement, wsUrl: null },
  stream: { ...subscribed.stream, wsUrl: null },
};
const profile = process.argv[2] === 'polling' ? polling : subscribed;
const intentFile = await JsonStore.open(await openNodeDisk(path.join(dataDir, 'log')), 'intents', {
  maxBytes: limits.intentFileBytes,
  isExpected: false,
  acceptMissing: false,
  logger: silent,
  onFatal(error) {
    throw error;
  },
});
const intents = new IntentLog(intentFile);
const token = chain.tokens.testWETH;
if (token === undefined) throw new Error('The local chain has its tokens');
const [operator] = chain.accounts;
if (operator === undefined) throw new Error('The local chain has no accounts');
const service = await startService({
  ...plainOptions,
  profile,
  rpc: { settlement: rpc(profile.settlement), stream: rpc(profile.stream) },
  operator: { privateKey: operator.privateKey, intents: { settlement: intents, stream: intents } },
  engine: log.engine,
  journal: log.journal,
  epoch: log.epoch,
  keys,
  limits,
  tierQuotas,
});
await service.ready;

answerQuestions<AnvilDialogue>(
  {
    ...serverAnswers(service.port),
    KEY: () => key,
    RPC_CALLS: () => rpcAnswers,
    SETUP: () => ({
      rpcUrl: chain.rpcUrl,
      orderbookStream: chain.contracts.orderbookStream,
      token,
      accounts: chain.accounts,
      pools: chain.pools,
    }),
  },
  async () => {
    await service.stop();
    await intentFile.close();
    await log.close();
    keys.close();
    await chain.stop();
    await rm(dataDir, { recursive: true, force: true });
  },
);
