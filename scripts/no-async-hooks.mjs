// Loaded before each test file: leaves out the hooks by which tap knows, of each promise, which test made it. They take
// a third of the time of code that works in promises (2,000 seeds of the log's simulator: 128 s with them, 86 s
// without). An error that nobody catches then ends the file's process in place of failing one test: the file fails.
import async_hooks from 'node:async_hooks';
import { syncBuiltinESMExports } from 'node:module';

const noHook = { enable: () => noHook, disable: () => noHook };
async_hooks.createHook = () => noHook;
syncBuiltinESMExports();
