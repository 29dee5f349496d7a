/**
 * Fingers, mouse, wheel and keys on a drawing, as wishes: move, zoom, tap, point, and drag where there
 * is something to be dragged. Two fingers only ever move and zoom.
 */

export interface Wishes {
  move: (byX: number, byY: number) => void;
  zoom: (factor: number, atX: number, atY: number) => void;
  /** `isFinger`: it covers more than a mouse does. `isMore`: with Shift, Ctrl or the command key. */
  tap: (x: number, y: number, isFinger: boolean, isMore: boolean) => void;
  /** Where the mouse is; `undefined` once it is gone. */
  point?: (at: { x: number; y: number } | undefined) => void;
  /** A key that is no other wish: the whole house again. */
  home: () => void;
  /**
   * One pointer went too far for a tap: what it drags from there on, if not the drawing itself. Where
   * this wish is, the mouse's middle button moves the drawing.
   */
  drag?: (fromX: number, fromY: number, isMore: boolean) => Drag | undefined;
}

/** What one pointer drags, until one of `end` and `undo` is called. */
export interface Drag {
  to: (x: number, y: number) => void;
  /** It was let go. */
  end: () => void;
  /** A second finger landed, or the browser took the pointer: as if it had never begun. */
  undo: () => void;
}

/** Less than this is a tap with an unsteady hand. */
const SLACK_PX = 7;
/** Things are also dragged a little, with a mouse. */
const MOUSE_DRAG_PX = 4;
const KEY_STEP_PX = 80;
const KEY_FACTOR = 1.4;

interface Finger {
  x: number;
  y: number;
}

/** What the first pointer does that is down alone: it may be a tap yet, or drags something. */
type First = { is: "press"; at: Finger; isFinger: boolean; isMore: boolean } | { is: "drag"; drag: Drag };

/** Listens until the returned function is called. */
export function gestures(element: HTMLElement, wishes: Wishes): () => void {
  const stopped = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(
    name: K,
    listen: (event: HTMLElementEventMap[K]) => void,
    options: AddEventListenerOptions = {},
  ) => element.addEventListener(name, listen, { ...options, signal: stopped.signal });

  const fingers = new Map<number, Finger>();
  // Where there is none, pointers move and zoom.
  let first: First | undefined;

  const place = (event: MouseEvent): Finger => {
    const box = element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };

  const undo = () => {
    const undone = first;
    first = undefined;
    if (undone?.is === "drag") undone.drag.undo();
  };

  on("pointerdown", (event) => {
    const isMiddle = event.button === 1 && wishes.drag !== undefined;
    if (event.button !== 0 && !isMiddle) return;
    // A browser would scroll by the middle button.
    if (isMiddle) event.preventDefault();
    element.setPointerCapture(event.pointerId);
    fingers.set(event.pointerId, place(event));
    undo();
    if (fingers.size > 1 || isMiddle) return;
    first = {
      is: "press",
      at: place(event),
      isFinger: event.pointerType !== "mouse",
      isMore: event.shiftKey || event.ctrlKey || event.metaKey,
    };
  });

  on("pointermove", (event) => {
    const to = place(event);
    const from = fingers.get(event.pointerId);
    if (!from) {
      if (event.pointerType === "mouse") wishes.point?.(to);
      return;
    }
    if (first?.is === "press") {
      const { at, isFinger, isMore } = first;
      const slack = wishes.drag && !isFinger ? MOUSE_DRAG_PX : SLACK_PX;
      if (Math.hypot(to.x - at.x, to.y - at.y) < slack) return;
      const drag = wishes.drag?.(at.x, at.y, isMore);
      first = drag && { is: "drag", drag };
    }
    if (first) {
      first.drag.to(to.x, to.y);
    } else if (fingers.size === 1) {
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
    if (!fingers.delete(event.pointerId)) return;
    const done = first;
    first = undefined;
    if (done?.is === "press") wishes.tap(done.at.x, done.at.y, done.isFinger, done.isMore);
    else done?.drag.end();
  });

  const gone = (event: PointerEvent) => {
    if (fingers.delete(event.pointerId)) undo();
  };
  on("pointercancel", gone);
  // It comes after every pointer, but one that is up or cancelled is no finger any more.
  on("lostpointercapture", gone);

  on("pointerleave", () => wishes.point?.(undefined));

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
