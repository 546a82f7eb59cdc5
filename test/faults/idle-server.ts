import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A process of its own that answers at once, and that nobody storms: what a client waits for it is what the machine,
 * its scheduler and the client itself take of any answer at that time.
 */
const server = createServer((_request, response) => response.end());
server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit());
