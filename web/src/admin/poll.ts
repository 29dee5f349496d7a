/**
 * Does something now and again and again, never twice at once, and not while nobody looks. Returns
 * what ends it.
 */
export function poll(work: () => Promise<unknown>, everyMs: number): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  let isRunning = false;
  const round = async () => {
    clearTimeout(timer);
    if (isOver || isRunning || document.hidden) return;
    isRunning = true;
    await work();
    isRunning = false;
    if (!isOver) timer = setTimeout(seen, everyMs);
  };
  const seen = () => void round();
  document.addEventListener("visibilitychange", seen);
  seen();
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
