/** Fingers, mouse, wheel and keys on the map, as four wishes: move, zoom, tap and point. */

export interface Wishes {
  move: (byX: number, byY: number) => void;
  zoom: (factor: number, atX: number, atY: number) => void;
  /** `isFinger`: it covers more than a mouse does. */
  tap: (x: number, y: number, isFinger: boolean) => void;
  /** Where the mouse is; `undefined` once it is gone. */
  point: (at: { x: number; y: number } | undefined) => void;
  /** A key that is no other wish: the whole house again. */
  home: () => void;
}

/** Less than this is a tap with an unsteady hand. */
const SLACK_PX = 7;
const KEY_STEP_PX = 80;
const KEY_FACTOR = 1.4;

interface Finger {
  x: number;
  y: number;
}

/** Listens until the returned function is called. */
export function gestures(element: HTMLElement, wishes: Wishes): () => void {
  const stopped = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(
    name: K,
    listen: (event: HTMLElementEventMap[K]) => void,
    options: AddEventListenerOptions = {},
  ) => element.addEventListener(name, listen, { ...options, signal: stopped.signal });

  const fingers = new Map<number, Finger>();
  let start: Finger | undefined;
  let isTap = false;

  const place = (event: MouseEvent): Finger => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  on("pointerdown", (event) => {
    if (event.button !== 0) return;
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    isTap = fingers.size === 1;
    start = place(event);
  });

  on("pointermove", (event) => {
    const to = place(event);
    const from = fingers.get(event.pointerId);
    if (!from) {
      if (event.pointerType === "mouse") wishes.point(to);
      return;
    }
    if (isTap && start && Math.hypot(to.x - start.x, to.y - start.y) < SLACK_PX) return;
    isTap = false;
    if (fingers.size === 1) {
      wishes.move(to.x - from.x, to.y - from.y);
    } else if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)![1];
      const before = Math.hypot(from.x - other.x, from.y - other.y);
      const after = Math.hypot(to.x - other.x, to.y - other.y);
      wishes.move((to.x - from.x) / 2, (to.y - from.y) / 2);
      if (before > 0 && after > 0) wishes.zoom(after / before, (to.x + other.x) / 2, (to.y + other.y) / 2);
    }
    fingers.set(event.pointerId, to);
  });

  on("pointerup", (event) => {
    const isOurs = fingers.delete(event.pointerId);
    if (!isOurs || !isTap || !start) return;
    isTap = false;
    wishes.tap(start.x, start.y, event.pointerType !== "mouse");
  });

  on("pointercancel", (event) => {
    fingers.delete(event.pointerId);
    isTap = false;
  });

  on("pointerleave", () => wishes.point(undefined));

  on(
    "wheel",
    (event) => {
      event.preventDefault();
      const { x, y } = place(event);
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const delta = Math.max(-240, Math.min(240, event.deltaY * lines));
      // A pinch on a touchpad comes as a wheel with Ctrl, in smaller steps.
      wishes.zoom(Math.exp(-delta * (event.ctrlKey ? 0.01 : 0.0022)), x, y);
    },
    { passive: false },
  );

  on("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const midX = element.clientWidth / 2;
    const midY = element.clientHeight / 2;
    const wish = {
      ArrowLeft: () => wishes.move(KEY_STEP_PX, 0),
      ArrowRight: () => wishes.move(-KEY_STEP_PX, 0),
      ArrowUp: () => wishes.move(0, KEY_STEP_PX),
      ArrowDown: () => wishes.move(0, -KEY_STEP_PX),
      "+": () => wishes.zoom(KEY_FACTOR, midX, midY),
      "=": () => wishes.zoom(KEY_FACTOR, midX, midY),
      "-": () => wishes.zoom(1 / KEY_FACTOR, midX, midY),
      "0": wishes.home,
    }[event.key];
    if (!wish) return;
    event.preventDefault();
    wish();
  });

  return () => stopped.abort();
}
