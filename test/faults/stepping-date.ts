/**
 * Loaded into a process before anything else (`node --import`): its wall clock steps by an hour and by a day, forth and
 * back, several times a second, as far as JavaScript can tell. Monotonic time goes on as it does.
 */
const HOUR_MS = 3_600_000;
const STEPS_MS = [0, HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS, 0];
const STEP_EVERY_MS = 150;

const trueNow = Date.now.bind(Date);
const steppedNow = (): number => {
  const step = Math.floor(performance.now() / STEP_EVERY_MS) % STEPS_MS.length;
  return trueNow() + (STEPS_MS[step] ?? 0);
};

globalThis.Date = new Proxy(Date, {
  construct: (target, given: unknown[]) =>
    Reflect.construct(target, given.length === 0 ? [steppedNow()] : given) as Date,
  get: (target, name) => (name === 'now' ? steppedNow : (Reflect.get(target, name) as unknown)),
});
