/** What `seatmap.ts` runs in the browser: the map, and beside it one that draws every seat each frame. */
import "../src/lib/theme.css";
import { paletteOf } from "../src/lib/seatmap/colours";
import { SeatCanvas } from "../src/lib/seatmap/map";
import { paintOf, paintSeats } from "../src/lib/seatmap/paint";
import { fit, NEAREST_PX, type View, zoomed } from "../src/lib/seatmap/view";
import { bigHouse } from "./house";

export interface Times {
  frames: number;
  p50_ms: number;
  p95_ms: number;
  max_ms: number;
  /** Between two frames: what the drawing costs besides, such as putting pixels on the screen, shows here. */
  between_p95_ms: number;
}

/** What this page puts into its window: each flies for so many milliseconds. */
export type Bench = Record<"ours" | "everySeat", (forMs: number) => Promise<Times>>;

const canvas = document.querySelector("canvas")!;
const COUNT = Number(new URLSearchParams(location.search).get("seats") ?? 50_000);
const house = bigHouse(COUNT);
const drawMs: number[] = [];
const betweenMs: number[] = [];
let last: number | undefined;

function summary(): Times {
  const of = (values: number[], share: number) => {
    const sorted = [...values].sort((a, b) => a - b);
    return (
      Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 100) / 100
    );
  };
  return {
    frames: drawMs.length,
    p50_ms: of(drawMs, 0.5),
    p95_ms: of(drawMs, 0.95),
    max_ms: of(drawMs, 1),
    between_p95_ms: of(betweenMs, 0.95),
  };
}

/**
 * In from the whole house to numbers and out again, three times, circling all the while: every
 * level of detail is passed. `step` is told by how much the scale and the place change from one
 * frame to the next.
 */
async function fly(forMs: number, step: (factor: number, byX: number, byY: number) => void): Promise<void> {
  drawMs.length = 0;
  betweenMs.length = 0;
  last = undefined;
  const farthest = fit(house, innerWidth, innerHeight).scale;
  const levels = Math.log(NEAREST_PX / house.pitch / farthest);
  const depth = (at: number) => ((1 - Math.cos((at / forMs) * 6 * Math.PI)) / 2) * levels;
  const begun = performance.now();
  let before = 0;
  await new Promise<void>((resolve) => {
    const frame = (now: number) => {
      if (last !== undefined) betweenMs.push(now - last);
      last = now;
      const at = Math.max(0, now - begun);
      step(Math.exp(depth(at) - depth(before)), Math.cos(at / 400) * 9, Math.sin(at / 700) * 9);
      before = at;
      if (at < forMs) requestAnimationFrame(frame);
      else resolve();
    };
    requestAnimationFrame(frame);
  });
}

async function ours(forMs: number): Promise<Times> {
  const map = new SeatCanvas(canvas, house, { drew: (ms) => drawMs.push(ms) });
  await fly(forMs, (factor, byX, byY) => {
    map.zoom(factor);
    map.pan(byX, byY);
  });
  const times = summary();
  map.stop();
  return times;
}

async function everySeat(forMs: number): Promise<Times> {
  canvas.width = innerWidth;
  canvas.height = innerHeight;
  const g = canvas.getContext("2d", { alpha: false })!;
  const paint = paintOf(house, paletteOf(canvas.parentElement!));
  const all = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  let view: View = fit(house, innerWidth, innerHeight);
  await fly(forMs, (factor, byX, byY) => {
    view = zoomed(view, factor, innerWidth / 2, innerHeight / 2);
    view = { ...view, left: view.left - byX / view.scale, top: view.top - byY / view.scale };
    const start = performance.now();
    g.fillStyle = paint.paper;
    g.fillRect(0, 0, canvas.width, canvas.height);
    paintSeats(g, house, paint, all, view.scale, -view.left * view.scale, -view.top * view.scale);
    drawMs.push(performance.now() - start);
  });
  return summary();
}

Object.assign(window, { ours, everySeat, house } satisfies Bench & { house: unknown });
