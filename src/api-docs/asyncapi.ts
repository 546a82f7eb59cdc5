import type { TSchema } from 'typebox';
import { OrderbookQuote, PoolKeyJson, PostedQuoteJson, SignatureJson } from '../wire/orderbook.js';
import { type ApiInfo, Components } from './openapi.js';

export interface MessageDoc {
  readonly summary: string;
  readonly schema: TSchema;
}

/** Messages of one protocol, by name. A message that goes both ways has one name for both. */
export interface ChannelDoc {
  readonly description: string;
  /** What is asked for in `sec-websocket-protocol`; null: nothing is. */
  readonly subprotocols: readonly string[] | null;
  readonly fromClient: Readonly<Record<string, MessageDoc>>;
  readonly fromServer: Readonly<Record<string, MessageDoc>>;
}

/** The WebSocket API as AsyncAPI 3.0. `channels`: each protocol by its name. */
export function asyncApi(channels: Readonly<Record<string, ChannelDoc>>, { version }: ApiInfo): object {
  const components = new Components({
    OrderbookQuote,
    PostedQuote: PostedQuoteJson,
    PoolKey: PoolKeyJson,
    Signature: SignatureJson,
  });
  const operations: Record<string, unknown> = {};
  for (const [name, channel] of Object.entries(channels)) {
    operations[`${name}FromClient`] = operation('receive', name, channel.fromClient);
    operations[`${name}FromServer`] = operation('send', name, channel.fromServer);
  }
  return {
    asyncapi: '3.0.0',
    info: { title: 'Quotebook', version, description: 'What is pushed, and what is asked for it.' },
    defaultContentType: 'application/json',
    channels: Object.fromEntries(
      Object.entries(channels).map(([name, channel]) => [name, channelJson(channel, components)]),
    ),
    operations,
    components: { schemas: components.definitions() },
  };
}

function channelJson(channel: ChannelDoc, components: Components): object {
  const { description, subprotocols, fromClient, fromServer } = channel;
  const messages = Object.entries({ ...fromClient, ...fromServer }).map(([name, { summary, schema }]) => [
    name,
    { name, summary, payload: components.refer(schema) },
  ]);
  const ws = subprotocols === null ? {} : { headers: subprotocolHeader(subprotocols) };
  return { address: '/', description, bindings: { ws }, messages: Object.fromEntries(messages) as object };
}

function subprotocolHeader(subprotocols: readonly string[]): object {
  const name = { type: 'string', enum: subprotocols };
  return { type: 'object', properties: { 'sec-websocket-protocol': name }, required: ['sec-websocket-protocol'] };
}

function operation(action: string, channel: string, messages: Readonly<Record<string, MessageDoc>>): object {
  const refs = Object.keys(messages).map((name) => ({ $ref: `#/channels/${channel}/messages/${name}` }));
  return { action, channel: { $ref: `#/channels/${channel}` }, messages: refs };
}
