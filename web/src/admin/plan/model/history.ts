/** What was, is and was taken back: plans share what they have in common, so that many are cheap. */

export interface History<T> {
  past: readonly T[];
  present: T;
  future: readonly T[];
}

/** Steps that can be taken back, at most. */
export const MAX_STEPS = 200;

export function begin<T>(present: T): History<T> {
  return { past: [], present, future: [] };
}

/** A step on; what is no change is no step. */
export function step<T>(history: History<T>, next: T): History<T> {
  if (next === history.present) return history;
  return { past: [...history.past, history.present].slice(-MAX_STEPS), present: next, future: [] };
}

export function undo<T>({ past, present, future }: History<T>): History<T> {
  if (past.length === 0) return { past, present, future };
  return { past: past.slice(0, -1), present: past.at(-1)!, future: [present, ...future] };
}

export function redo<T>({ past, present, future }: History<T>): History<T> {
  const [next, ...rest] = future;
  if (next === undefined) return { past, present, future };
  return { past: [...past, present], present: next, future: rest };
}
