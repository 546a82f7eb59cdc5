import type { TSchema } from 'typebox';
import { OrderbookQuote, PoolKeyJson, PostedQuoteJson, SignatureJson } from '../wire/orderbook.js';
import type { Examples } from './examples.js';
import { type ApiInfo, Components, infoOf } from './openapi.js';

export interface MessageDoc {
  readonly summary: string;
  readonly schema: TSchema;
}

/** Messages of one protocol, by name. A message that goes both ways has one name for both. */
export interface ChannelDoc {
  readonly description: string;
  /** Names to ask for in `sec-websocket-protocol`; null: none. */
  readonly subprotocols: readonly string[] | null;
  readonly fromClient: Readonly<Record<string, MessageDoc>>;
  readonly fromServer: Readonly<Record<string, MessageDoc>>;
}

/** The document does not know by which name clients reach the service. */
const SERVER = {
  host: '{host}',
  protocol: 'ws',
  description: 'This service; behind a proxy with TLS, `wss`.',
  variables: { host: { default: 'localhost:8080', description: 'Host and port of the service.' } },
};

/** The WebSocket API as AsyncAPI 3.1. `channels`: each protocol by its name. */
export function asyncApi(channels: Readonly<Record<string, ChannelDoc>>, info: ApiInfo, examples?: Examples): object {
  const components = new Components({
    OrderbookQuote,
    PostedQuote: PostedQuoteJson,
    PoolKey: PoolKeyJson,
    Signature: SignatureJson,
  });
  const operations: Record<string, unknown> = {};
  for (const [name, channel] of Object.entries(channels)) {
    operations[`${name}FromClient`] = operation('receive', name, channel.fromClient, 'What a client may send.');
    operations[`${name}FromServer`] = operation('send', name, channel.fromServer, 'What the server sends.');
  }
  return {
    asyncapi: '3.1.0',
    info: {
      ...infoOf(info, 'What the server pushes, and what clients send.'),
      tags: [{ name: 'WebSocket', description: 'All protocols share one address; the subprotocol tells them apart.' }],
    },
    servers: { service: SERVER },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(
      Object.entries(channels).map(([name, channel]) => [name, channelJson(name, channel, components, examples)]),
    ),
    operations,
    components: { schemas: components.definitions() },
  };
}

function channelJson(
  protocol: string,
  channel: ChannelDoc,
  components: Components,
  examples: Examples | undefined,
): object {
  const { description, subprotocols, fromClient, fromServer } = channel;
  const messages = Object.entries({ ...fromClient, ...fromServer }).map(([name, { summary, schema }]) => {
    const payload = examples?.message(protocol, name);
    const example = payload === undefined ? {} : { examples: [{ payload }] };
    return [name, { name, summary, payload: components.refer(schema), ...example }];
  });
  const ws = subprotocols === null ? {} : { headers: subprotocolHeader(subprotocols) };
  return {
    address: '/',
    title: protocol,
    description,
    bindings: { ws },
    messages: Object.fromEntries(messages) as object,
  };
}

function subprotocolHeader(subprotocols: readonly string[]): object {
  const name = { type: 'string', enum: subprotocols };
  return { type: 'object', properties: { 'sec-websocket-protocol': name }, required: ['sec-websocket-protocol'] };
}

function operation(
  action: string,
  channel: string,
  messages: Readonly<Record<string, MessageDoc>>,
  description: string,
): object {
  const refs = Object.keys(messages).map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` }));
  return { action, description, channel: { $ref: `#/channels/${channel}` }, messages: refs };
}
