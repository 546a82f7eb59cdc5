import { answerQuestions } from '../processes/answer-questions.js';
import { HttpConnection, requestBytes } from './http-connection.js';
import type { Percentiles } from './latencies.js';
import { postToPush } from './post-to-push.js';
import { postings, type Postage } from './posted-quotes.js';
import { closedLoop, openLoop } from './request-load.js';
import { Subscribers, type Crowd, type Delivered, type Expected } from './subscribers.js';

export interface Target {
  readonly port: number;
  readonly connections: number;
}

export interface LoadDialogue {
  /** One GET, for its body. */
  FETCH: { given: { port: number; target: string; apiKey: string }; answer: Uint8Array };
  /** These GETs in turn as fast as can be; resolves to seconds. */
  GET_ALL: { given: Target & { targets: readonly string[]; apiKey: string; count: number }; answer: number };
  /** The same at a fixed rate. */
  GET_AT_RATE: {
    given: Target & { targets: readonly string[]; apiKey: string; count: number; perSecond: number };
    answer: Percentiles;
  };
  /** Signs quotes for the next posting. */
  SIGN: { given: Postage; answer: null };
  /** Posts what was signed as fast as can be; resolves to seconds. */
  POST_ALL: { given: Target; answer: number };
  /** Posts what was signed at a fixed rate; from due to pushed. */
  POST_AT_RATE: { given: Target & { perSecond: number }; answer: Percentiles };
  /** In place of the subscribers before; null: none. */
  SUBSCRIBE: { given: Crowd | null; answer: null };
  /** The load process answers at once; the server publishes the expected quotes afterwards. */
  EXPECT: { given: Expected; answer: null };
  /** The answer comes when all that was expected has come, or does not come. */
  RECEIVED: { given: null; answer: Delivered };
}

let subscribers: Subscribers | null = null;
let signed: { readonly postage: Postage; readonly requests: readonly Buffer[] } | null = null;

function crowd(): Subscribers {
  if (subscribers === null) throw new Error('There are no subscribers');
  return subscribers;
}

function posting(): NonNullable<typeof signed> {
  if (signed === null) throw new Error('Nothing was signed');
  return signed;
}

answerQuestions<LoadDialogue>(
  {
    async FETCH({ port, target, apiKey }) {
      const connection = await HttpConnection.open(port);
      const { body } = await connection.request(requestBytes('GET', target, apiKey), true);
      connection.close();
      return body;
    },
    async GET_ALL({ port, connections, targets, apiKey, count }) {
      const requests = targets.map((target) => requestBytes('GET', target, apiKey));
      return (await closedLoop(port, connections, requests, count, 200)).seconds;
    },
    GET_AT_RATE({ port, connections, targets, apiKey, count, perSecond }) {
      const requests = targets.map((target) => requestBytes('GET', target, apiKey));
      return openLoop(port, connections, requests, count, perSecond, 200);
    },
    SIGN(postage) {
      signed = { postage, requests: postings(postage) };
      return null;
    },
    async POST_ALL({ port, connections }) {
      const { requests } = posting();
      return (await closedLoop(port, connections, requests, requests.length, 201)).seconds;
    },
    POST_AT_RATE({ port, connections, perSecond }) {
      const { requests, postage } = posting();
      return postToPush({ ...postage, port, connections, perSecond, waiting: 'asleep', requests });
    },
    async SUBSCRIBE(crowd) {
      subscribers?.close();
      subscribers = crowd && (await Subscribers.connect(crowd));
      return null;
    },
    EXPECT(expected) {
      crowd().expect(expected);
      return null;
    },
    RECEIVED: () => crowd().received(),
  },
  () => undefined,
);
