// Prints every public quote, fill and RFQ as it is pushed.
//   node examples/watch.mjs READY_FILE
import { readFileSync } from 'node:fs';
import { WebSocket } from 'ws';

const [readyFile = 'data/ready.json'] = process.argv.slice(2);
const ready = JSON.parse(readFileSync(readyFile, 'utf8'));
// A cluster's file has several gateways: any of them will do.
const { wsUrl, apiKey, chainId } = { ...ready, ...ready.gateways?.[0] };
const socket = new WebSocket(wsUrl);

socket.on('open', () => {
  socket.send(JSON.stringify({ type: 'AUTH', apiKey, body: null }));
  for (const channel of ['QUOTES', 'RFQ']) {
    socket.send(JSON.stringify({ type: 'FILTER', channel, body: { chainId: String(chainId) } }));
  }
});
socket.on('message', (text) => console.log(text.toString()));
socket.on('error', (error) => {
  console.error(error.message || error.code);
  process.exitCode = 1;
});
socket.on('close', (code) => console.log(`closed with ${code}`));
