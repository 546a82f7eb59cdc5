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
