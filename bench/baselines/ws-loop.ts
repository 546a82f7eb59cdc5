import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type RawData, type WebSocket } from 'ws';
import { answerQuestions, serverAnswers } from '../processes/answer-questions.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import type { PublishDialogue } from '../servers/publish-schedule.js';
import { plainPublisher } from './plain-publisher.js';

/** The npm package `ws`: a loop that sends each message to every socket of its topic. */
const topics = new Map<string, Set<WebSocket>>();
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
server.on('connection', (socket) => {
  socket.on('message', (data: RawData) => {
    const topic = (data as Buffer).toString();
    const sockets = topics.get(topic) ?? new Set();
    topics.set(topic, sockets.add(socket));
    socket.on('close', () => sockets.delete(socket));
    socket.send('joined');
  });
});
await once(server, 'listening');

function publish(topic: string, message: Buffer): void {
  for (const socket of topics.get(topic) ?? []) socket.send(message, { binary: false });
}

answerQuestions<ServerDialogue & PublishDialogue>(
  {
    ...serverAnswers((server.address() as AddressInfo).port),
    ...plainPublisher(publish),
  },
  () => {
    for (const socket of server.clients) socket.terminate();
  },
);
