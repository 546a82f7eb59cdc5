/** Draws at most once a frame, however often it is asked to: a burst of quotes is one picture. */
export function coalesced(draw: () => void): () => void {
  let isPending = false;
  return () => {
    if (isPending) return;
    isPending = true;
    requestAnimationFrame(() => {
      isPending = false;
      draw();
    });
  };
}

/** Works at most once in so many milliseconds after it is asked to, however often that is. */
export function throttled(work: () => void, ms: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      work();
    }, ms);
  };
}
