/**
 * Checks a draw: downloads the list, computes everything anew in a worker, and compares with what
 * was published.
 */
import { path, send } from "../../api/client";
import type { Draw } from "../../api/schema";
import type { Drawn, Lot, Published } from "./draw";

export interface Checked {
  isSeedRight: boolean;
  isListRight: boolean;
  isCountRight: boolean;
  order: Lot[];
  tookMs: number;
}

export async function checkDraw(event: string, draw: Draw, signal: AbortSignal): Promise<Checked> {
  const list = await (await send(path`/events/${event}/draw/entrants`, { signal })).text();
  const startedAt = performance.now();
  const drawn = await inWorker({ seed: draw.seed!, publicValue: draw.public_value, list }, signal);
  return {
    isSeedRight: drawn.seedHash === draw.seed_hash,
    isListRight: drawn.listHash === draw.entrants_hash,
    isCountRight: drawn.order.length === draw.entrants,
    order: drawn.order,
    tookMs: performance.now() - startedAt,
  };
}

function inWorker(published: Published, signal: AbortSignal): Promise<Drawn> {
  const worker = new Worker(new URL("./draw.worker.ts", import.meta.url), { type: "module" });
  return new Promise<Drawn>((resolve, reject) => {
    worker.onmessage = (message: MessageEvent<Drawn>) => resolve(message.data);
    worker.onerror = () => reject(new Error("the draw could not be computed"));
    signal.addEventListener("abort", () => reject(new Error("the page was left")));
    worker.postMessage(published);
  }).finally(() => worker.terminate());
}
