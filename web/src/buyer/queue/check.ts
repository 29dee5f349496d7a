/**
 * Checks a draw: downloads the list, computes everything anew in a worker, and compares with what
 * was published, and with what this browser noted of that before.
 */
import { path, send } from "../../api/client";
import type { Draw } from "../../api/schema";
import type { Drawn, Lot, Published } from "./draw";
import type { Noted, NotedDraw } from "./noted";

export interface Checked {
  isSeedRight: boolean;
  isListRight: boolean;
  isCountRight: boolean;
  /**
   * Whether a public value was mixed in, where one was promised; missing where none was. That it is
   * the promised one is for people to judge.
   */
  isPromiseKept?: boolean | undefined;
  /** Whether what is promised is what this browser noted, if it noted a promise. */
  isPromiseSame: boolean;
  order: Lot[];
  tookMs: number;
}

export async function checkDraw(
  event: string,
  draw: Draw,
  noted: NotedDraw,
  signal: AbortSignal,
): Promise<Checked> {
  const list = await (await send(path`/events/${event}/draw/entrants`, { signal })).text();
  const startedAt = performance.now();
  const drawn = await inWorker({ seed: draw.seed!, publicValue: draw.public_value, list }, signal);
  const source = draw.public_value_source;
  return {
    isSeedRight: agrees(drawn.seedHash, draw.seed_hash, noted.seedHash),
    isListRight: agrees(drawn.listHash, draw.entrants_hash, noted.entrantsHash),
    isCountRight: drawn.order.length === draw.entrants,
    isPromiseKept: source === undefined ? undefined : draw.public_value !== undefined,
    isPromiseSame: noted.source === undefined || noted.source.text === source,
    order: drawn.order,
    tookMs: performance.now() - startedAt,
  };
}

/** Whether a fingerprint is the one that is published now, and the one that was published earlier. */
function agrees(hash: string, published: string | undefined, noted: Noted | undefined): boolean {
  return hash === published && (noted === undefined || hash === noted.hash);
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
