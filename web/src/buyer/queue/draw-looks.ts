/**
 * When a waiting page looks at its draw. The list's fingerprint has to be noted before the opening to
 * be worth something, and a page may be left open for long: what it knew when it was opened is not
 * enough.
 */
import type { Draw } from "../../api/schema";
import { clock } from "../../lib/clock";
import { noteDraw } from "./noted";

/** A pause before the list is due is as long as this, or up to twice as much. */
const LOOK_MS = 150_000;
/** The first look at a list that is due comes after this time: fixing it may take a moment. */
const FIRST_MS = 5_000;
/**
 * Within which time after that it comes. All who wait have the same time, and nobody needs the list
 * within seconds: 100,000 pages are 2,000 looks a second, if all are being looked at.
 */
const FIRST_SPREAD_MS = 50_000;
/**
 * A list that is late is looked at again after this time, or up to twice as much; pauses double. From
 * the second such look on a page asks for its event besides: 100,000 pages are less than 5,000 requests a
 * second then, and fewer each time.
 */
const AGAIN_MS = 30_000;
/** Within which time a page that somebody comes back to makes up for a look. */
const BACK_MS = 5_000;

/**
 * Looks now, and again until the list is fixed or the returned function is called: not while the page
 * is hidden, and once when it comes back if a look was due meanwhile. `dueAt` is when the list is to
 * be fixed, if that is known.
 */
export function watchDraw(event: string, dueAt: number | undefined, found: (draw: Draw) => void): () => void {
  let isOver = false;
  let isMissed = false;
  let againMs = AGAIN_MS;
  let timer: ReturnType<typeof setTimeout>;
  const look = async () => {
    isMissed = document.visibilityState === "hidden";
    if (isMissed) return;
    const draw = await noteDraw(event);
    if (isOver) return;
    if (draw) found(draw);
    if (draw?.entrants_hash === undefined) lookAfter(pauseMs());
  };
  const lookAfter = (pauseMs: number) => {
    timer = setTimeout(() => void look(), pauseMs);
  };
  const pauseMs = () => {
    const untilDueMs = dueAt === undefined ? Infinity : dueAt - clock.now();
    if (untilDueMs > 0) {
      const firstMs = untilDueMs + FIRST_MS + FIRST_SPREAD_MS * Math.random();
      return Math.min(firstMs, LOOK_MS * (1 + Math.random()));
    }
    const lateMs = againMs * (1 + Math.random());
    againMs = Math.min(2 * againMs, LOOK_MS);
    return lateMs;
  };
  const seen = () => {
    if (!isMissed || document.visibilityState === "hidden") return;
    isMissed = false;
    lookAfter(BACK_MS * Math.random());
  };
  document.addEventListener("visibilitychange", seen);
  void look();
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", seen);
  };
}
