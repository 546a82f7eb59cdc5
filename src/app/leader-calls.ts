import type { ProofStore } from '../auth/proof-store.js';
import { unlessChainFails } from '../chain/contracts/contract-errors.js';
import type { Limits } from '../config/limits.js';
import type { Hex, Order } from '../engine/quote.js';
import type { PublishResult } from '../http/publish-route.js';
import type { PastAnswer, PastRequest } from '../past/questions.js';
import type { OptionServices } from './core.js';
import type { LocalCore } from './local-core.js';

/**
 * Calls that gateways may send to the leader, by name. A gateway may be older or newer than the leader: a call keeps its
 * name, its arguments and its result.
 */
export function leaderCalls(
  { publishing, withdrawals, protections, optionServices, rfqs, settlement, accounts, past }: LocalCore,
  maxPayload: number,
  proofs: ProofStore,
) {
  const services = (): OptionServices => {
    const found = optionServices();
    if (found === null) throw new Error('the leader has no wallet');
    return found;
  };
  return {
    async publish(...args: Parameters<typeof publishing.submit>): Promise<PublishResult> {
      // A gateway resends to a new leader, which would pay again for what it has not read from the chain yet.
      if (publishing.refusal()?.code === 'chain_unavailable') return { type: 'CHAIN_UNREACHABLE' };
      const result = await publishing.submit(...args);
      if (result.type !== 'ANSWERED') return result;
      const items = result.items.map((item) => (item.type === 'FAILED' ? item : { ...item, order: plain(item.order) }));
      return { ...result, items };
    },
    dryRun: (...args: Parameters<typeof publishing.dryRun>) => publishing.dryRun(...args),
    deploy: (...args: Parameters<OptionServices['deployments']['deploy']>) => services().deployments.deploy(...args),
    settle: (...args: Parameters<OptionServices['settlements']['settle']>) => services().settlements.settle(...args),
    exercise: (...args: Parameters<OptionServices['settlements']['exercise']>) =>
      services().settlements.exercise(...args),
    annihilate: (...args: Parameters<OptionServices['settlements']['annihilate']>) =>
      services().settlements.annihilate(...args),
    vaultQuote: (...args: Parameters<OptionServices['vaults']['quote']>) => services().vaults.quote(...args),
    fillQuotes: (...args: Parameters<OptionServices['trading']['fill']>) => services().trading.fill(...args),
    cancelQuotes: (...args: Parameters<OptionServices['trading']['cancel']>) => services().trading.cancel(...args),
    approve: (...args: Parameters<OptionServices['trading']['approve']>) => services().trading.approve(...args),
    vaultTrade: (...args: Parameters<OptionServices['trading']['tradeWithVault']>) =>
      services().trading.tradeWithVault(...args),
    signQuotes: (...args: Parameters<OptionServices['trading']['sign']>) => services().trading.sign(...args),
    poolAddressOf: (...args: Parameters<typeof rfqs.poolAddressOf>) => rfqs.poolAddressOf(...args),
    /** Null: the chain gave no answer. */
    multicall: (calls: Parameters<typeof settlement.multicall>[0]) =>
      unlessChainFails(() => settlement.multicall(calls), null),
    collateralBalances: (...args: Parameters<typeof accounts.collateral>) => accounts.collateral(...args),
    nativeBalance: (...args: Parameters<typeof accounts.native>) => accounts.native(...args),
    /** `calls`: of contracts, which the gateway charges to the key; absent from leaders that do not count them. */
    async optionBalances(wallet: Hex): Promise<Awaited<ReturnType<typeof accounts.options>> & { calls?: number }> {
      let calls = 0;
      const read = await accounts.options(wallet, { charge: (rows) => void (calls += rows) });
      return { ...read, calls };
    },
    withdrawQuotes: (...args: Parameters<typeof withdrawals.withdraw>) => withdrawals.withdraw(...args),
    withdrawAllQuotes: (...args: Parameters<typeof withdrawals.withdraw>) => withdrawals.withdraw(...args),
    restoreQuotes: (...args: Parameters<typeof withdrawals.restore>) => withdrawals.restore(...args),
    protect: (...args: Parameters<typeof protections.ask>) => protections.ask(...args),
    publishRfq: (...args: Parameters<typeof rfqs.publish>) => rfqs.publish(...args),
    openRfq: (...args: Parameters<typeof rfqs.open>) => rfqs.open(...args),
    cancelRfq: (...args: Parameters<typeof rfqs.cancel>) => rfqs.cancel(...args),
    async past(request: PastRequest): Promise<SentAnswer> {
      if (past === null) throw new Error('the leader keeps no log');
      return sentAnswer(await past.ask(request), maxPayload);
    },
    spendNonce: (...args: Parameters<ProofStore['spend']>) => proofs.spend(...args),
    proveAddress: (...args: Parameters<ProofStore['prove']>) => proofs.prove(...args),
    signOut: (...args: Parameters<ProofStore['signOut']>) => proofs.signOut(...args),
    addSelfKey: (...args: Parameters<ProofStore['addSelfKey']>) => proofs.addSelfKey(...args),
    noteKeyUses: (...args: Parameters<ProofStore['noteUses']>) => proofs.noteUses(...args),
  };
}

/** Names, arguments and results, as gateways call them. */
export type LeaderCalls = ReturnType<typeof leaderCalls>;

/** Those that end with a transaction of the leader's wallets, or with many. */
const TRANSACTING: readonly (keyof LeaderCalls)[] = [
  ...(['publish', 'deploy', 'settle', 'exercise', 'annihilate'] as const),
  ...(['fillQuotes', 'cancelQuotes', 'approve', 'vaultTrade'] as const),
];

/** How long a gateway waits for the answer of a call, milliseconds. */
export function answerMs(
  name: keyof LeaderCalls,
  { clusterCallMs, clusterTransactMs }: Pick<Limits, 'clusterCallMs' | 'clusterTransactMs'>,
): number {
  return TRANSACTING.includes(name) ? clusterTransactMs : clusterCallMs;
}

/** The engine's own order knows its place in the book. */
function plain({ quote, fillableSize, state, reason }: Order): Order {
  return { quote, fillableSize, state, reason };
}

/** An answer about the past as a leader sends it to a gateway, its body in base64. */
type SentAnswer =
  | (Omit<Extract<PastAnswer, { readonly type: 'FOUND' }>, 'body'> & { readonly body: string })
  | Exclude<PastAnswer, { readonly type: 'FOUND' }>;

/** `maxBytes`: of a message. */
function sentAnswer(answer: PastAnswer, maxBytes: number): SentAnswer {
  if (answer.type !== 'FOUND') return answer;
  const body = Buffer.from(answer.body).toString('base64');
  return body.length > maxBytes - ANSWER_ROOM_BYTES ? { type: 'TOO_LARGE' } : { ...answer, body };
}

/** In a message, for what is not the answer's body. */
const ANSWER_ROOM_BYTES = 4 << 10;

/** As the gateway answers its client. */
export function receivedAnswer(answer: SentAnswer): PastAnswer {
  return answer.type === 'FOUND' ? { ...answer, body: Buffer.from(answer.body, 'base64') } : answer;
}
