import { startLocalChain } from '../../../src/chain/dev/local-chain.js';

/** A process that starts a local chain, says where, and has no plan to stop it. */
const { rpcUrl, anvilPid } = await startLocalChain();
process.stdout.write(`${JSON.stringify({ rpcUrl, anvilPid })}\n`);
