/** What was, is and was taken back: plans share what they have in common, so that many are cheap. */

export interface History<T> {
  past: readonly T[];
  present: T;
  future: readonly T[];
  /** When the present was stepped to; missing if it was come back to. */
  atMs?: number;
}

/** Steps that can be taken back, at most. */
export const MAX_STEPS = 200;
/** A held key repeats itself sooner, also the first time. */
export const REPEAT_MS = 1_000;

export function begin<T>(present: T): History<T> {
  return { past: [], present, future: [] };
}

/**
 * A step on; what is no change is no step. What repeats the step before, and soon after it, goes on
 * with that one: `isRepeat` tells by the present and what is next.
 */
export function step<T>(
  history: History<T>,
  next: T,
  atMs = -Infinity,
  isRepeat: (present: T, next: T) => boolean = () => false,
): History<T> {
  const { past, present } = history;
  if (next === present) return history;
  const isSoon = history.atMs !== undefined && atMs - history.atMs <= REPEAT_MS;
  const isOne = isSoon && isRepeat(present, next);
  return { past: isOne ? past : [...past, present].slice(-MAX_STEPS), present: next, future: [], atMs };
}

export function undo<T>(history: History<T>): History<T> {
  const { past, present, future } = history;
  if (past.length === 0) return history;
  return { past: past.slice(0, -1), present: past.at(-1)!, future: [present, ...future] };
}

export function redo<T>(history: History<T>): History<T> {
  const { past, present } = history;
  const [next, ...rest] = history.future;
  if (next === undefined) return history;
  return { past: [...past, present], present: next, future: rest };
}
