import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerQuestions, serverAnswers } from '../processes/answer-questions.js';
import type { ServerDialogue } from '../processes/dialogue.js';
import type { BareServerDialogue } from './bare-uws.js';

/** node:http and nothing else: every request is answered with ready bytes. */
let body = Buffer.alloc(0);
const server = createServer((_, response) => {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

answerQuestions<ServerDialogue & Pick<BareServerDialogue, 'ANSWER_WITH'>>(
  {
    ...serverAnswers((server.address() as AddressInfo).port),
    ANSWER_WITH(bytes) {
      body = Buffer.from(bytes);
      return null;
    },
  },
  () => server.closeAllConnections(),
);
