/** What the control room shows: samples of an event, one a second, and the rates that follow from them. */
import { path } from "../../api/client";
import { askAsOrganiser } from "../../api/organiser";
import type { Phase, Units } from "../../api/schema";
import { clock } from "../../lib/clock";

export const COUNTS = [
  "joined",
  "admitted",
  "left",
  "held",
  "confirmed",
  "released",
  "expired",
  "cancelled",
  "payments_begun",
  "payments_failed",
  "checked_in",
  "sold_minor",
] as const;
export type Count = (typeof COUNTS)[number];

export interface Sample {
  at: number;
  phase: Phase;
  waiting: number;
  active: number;
  units: Units;
  /** These and `refused` only grow while the node runs. */
  counts: Record<Count, number>;
  refused: Record<string, number>;
}

/** A quarter of an hour. */
const KEPT = 900;
/** Over so long a rate is taken: shorter and it flickers, longer and it lags behind a slider. */
const RATE_MS = 10_000;
/** A stream that says nothing for so long is dead. */
const SILENCE_MS = 8_000;
const AGAIN_MS = 2_000;

export interface Watch {
  samples: (samples: Sample[]) => void;
  /** Whether samples come just now. */
  live: (isLive: boolean) => void;
}

/** Follows an event's samples until the returned function is called; connects again by itself. */
export function watchSamples(event: string, watch: Watch): () => void {
  let samples: Sample[] = [];
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;

  const open = () => {
    clearTimeout(timer);
    if (isOver) return;
    source = new EventSource(path`/admin/events/${event}/live`);
    source.addEventListener("past", (message) => {
      samples = (JSON.parse(message.data as string) as { samples: Sample[] }).samples.slice(-KEPT);
      heard();
    });
    source.addEventListener("sample", (message) => {
      const sample = JSON.parse(message.data as string) as Sample;
      clock.note(sample.at);
      samples = [...samples.slice(1 - KEPT), sample];
      heard();
    });
    source.onerror = lost;
    timer = setTimeout(lost, SILENCE_MS);
  };
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(lost, SILENCE_MS);
    watch.live(true);
    watch.samples(samples);
  };
  const lost = () => {
    clearTimeout(timer);
    source?.close();
    if (isOver) return;
    watch.live(false);
    timer = setTimeout(() => {
      // A stream cannot say that the session is over; this does, and waits for the next one.
      askAsOrganiser(path`/session`).then(open, lost);
    }, AGAIN_MS);
  };
  open();
  return () => {
    isOver = true;
    clearTimeout(timer);
    source?.close();
  };
}

/** How much a growing number grew a minute, at each sample; null where that is not known yet. */
export function perMin(samples: Sample[], read: (sample: Sample) => number): (number | null)[] {
  let from = 0;
  return samples.map((sample, index) => {
    while (from < index && sample.at - samples[from + 1]!.at >= RATE_MS) from += 1;
    const before = samples[from]!;
    const tookMs = sample.at - before.at;
    if (tookMs <= 0) return null;
    // Below what was: the node began to count anew.
    return Math.max(0, ((read(sample) - read(before)) * 60_000) / tookMs);
  });
}

/** Codes of refusals, the most frequent first. */
export function refusalCodes(samples: Sample[], most: number): string[] {
  const last = samples.at(-1)?.refused ?? {};
  const first = samples[0]?.refused ?? {};
  const grew = (code: string) => (last[code] ?? 0) - (first[code] ?? 0);
  return Object.keys(last)
    .sort((a, b) => grew(b) - grew(a) || a.localeCompare(b))
    .slice(0, most);
}
