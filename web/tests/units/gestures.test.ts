/** What fingers and a mouse wish for, without a browser: pointer events are given by hand. */
import { expect, test } from "vitest";
import { gestures, type Wishes } from "../../src/lib/seatmap/gestures";

/** Something pointers can be on; it tells what was wished for, in whole pixels. */
function surface(more: (told: string[]) => Partial<Wishes> = () => ({})) {
  const told: string[] = [];
  const element = Object.assign(new EventTarget(), {
    getBoundingClientRect: () => ({ left: 0, top: 0 }),
    setPointerCapture: () => undefined,
  });
  const stop = gestures(element as unknown as HTMLElement, {
    move: (x, y) => told.push(`move ${x} ${y}`),
    zoom: (factor, x, y) => told.push(`zoom ${factor} at ${x} ${y}`),
    tap: (x, y, isFinger) => told.push(`${isFinger ? "finger" : "mouse"} at ${x} ${y}`),
    point: (at) => told.push(at ? `point ${at.x} ${at.y}` : "point nowhere"),
    home: () => told.push("home"),
    ...more(told),
  });
  const send = (name: string, pointerId: number, x: number, y: number, fields: object = {}) => {
    const pointer = { pointerId, clientX: x, clientY: y, button: 0, pointerType: "touch" };
    element.dispatchEvent(Object.assign(new Event(`pointer${name}`, { cancelable: true }), pointer, fields));
  };
  return {
    stop,
    send,
    lose: (pointerId: number) =>
      element.dispatchEvent(Object.assign(new Event("lostpointercapture"), { pointerId })),
    told: () => told.splice(0),
  };
}

test("one finger taps, or moves the map once it went far enough", () => {
  const { send, told } = surface();
  send("down", 1, 10, 10);
  send("move", 1, 14, 10);
  send("up", 1, 14, 10);
  expect(told()).toEqual(["finger at 10 10"]);
  send("down", 2, 10, 10);
  send("move", 2, 16, 10);
  expect(told()).toEqual([]);
  send("move", 2, 17, 10);
  send("move", 2, 17, 15);
  send("up", 2, 17, 15);
  expect(told()).toEqual(["move 7 0", "move 0 5"]);
});

test("two fingers move and zoom, and the one that is left moves", () => {
  const { send, told } = surface();
  send("down", 1, 100, 100);
  send("down", 2, 200, 100);
  send("move", 2, 300, 100);
  expect(told()).toEqual(["move 50 0", "zoom 2 at 200 100"]);
  send("up", 2, 300, 100);
  send("move", 1, 101, 100);
  send("up", 1, 101, 100);
  expect(told()).toEqual(["move 1 0"]);
});

test("two fingers that lie still tap nothing", () => {
  const { send, told } = surface();
  send("down", 1, 100, 100);
  send("down", 2, 200, 100);
  send("up", 2, 200, 100);
  send("up", 1, 100, 100);
  expect(told()).toEqual([]);
});

test("pointer that the browser takes taps nothing, and is no finger any more", () => {
  const { send, told } = surface();
  send("down", 1, 100, 100);
  send("cancel", 1, 100, 100);
  send("up", 1, 100, 100);
  send("down", 2, 10, 10);
  send("move", 2, 20, 10);
  expect(told()).toEqual(["move 10 0"]);
});

test("the map knows the mouse's first button alone, and where the mouse is", () => {
  const { send, told } = surface();
  const mouse = { pointerType: "mouse" };
  send("down", 1, 100, 100, { ...mouse, button: 1 });
  send("move", 1, 140, 100, mouse);
  send("up", 1, 140, 100, { ...mouse, button: 1 });
  expect(told()).toEqual(["point 140 100"]);
  send("down", 1, 100, 100, mouse);
  send("move", 1, 106, 100, mouse);
  send("up", 1, 106, 100, mouse);
  expect(told()).toEqual(["mouse at 100 100"]);
});

/** Where something is dragged, as told; `drags` says whether anything is there to be dragged. */
function dragging(drags = true) {
  return surface((told) => ({
    drag: (x, y, isMore) => {
      told.push(`drag from ${x} ${y}${isMore ? ", more" : ""}`);
      if (!drags) return undefined;
      return {
        to: (toX, toY) => told.push(`to ${toX} ${toY}`),
        end: () => told.push("end"),
        undo: () => told.push("undo"),
      };
    },
  }));
}

test("one finger drags what is there, and the drawing where nothing is", () => {
  const { send, told } = dragging();
  send("down", 1, 10, 10, { shiftKey: true });
  send("move", 1, 16, 10);
  expect(told()).toEqual([]);
  send("move", 1, 20, 10);
  send("move", 1, 11, 10);
  send("up", 1, 11, 10);
  expect(told()).toEqual(["drag from 10 10, more", "to 20 10", "to 11 10", "end"]);

  const empty = dragging(false);
  empty.send("down", 1, 10, 10);
  empty.send("move", 1, 20, 10);
  empty.send("move", 1, 30, 10);
  empty.send("up", 1, 30, 10);
  expect(empty.told()).toEqual(["drag from 10 10", "move 10 0", "move 10 0"]);
});

test("second finger takes a drag back, and none begins before both are up", () => {
  const { send, told } = dragging();
  send("down", 1, 0, 0);
  send("move", 1, 100, 0);
  send("down", 2, 200, 0);
  expect(told()).toEqual(["drag from 0 0", "to 100 0", "undo"]);
  send("move", 2, 300, 0);
  send("up", 1, 100, 0);
  send("move", 2, 320, 0);
  send("up", 2, 320, 0);
  expect(told()).toEqual(["move 50 0", "zoom 2 at 200 0", "move 20 0"]);
  send("down", 3, 0, 0);
  send("move", 3, 10, 0);
  send("up", 3, 10, 0);
  expect(told()).toEqual(["drag from 0 0", "to 10 0", "end"]);
});

test.each(["cancel", "lose"])("pointer that is taken (%s) takes its drag back, once", (how) => {
  const { send, lose, told } = dragging();
  const take = (id: number) => (how === "cancel" ? send("cancel", id, 100, 0) : lose(id));
  send("down", 1, 0, 0);
  take(1);
  send("up", 1, 0, 0);
  expect(told()).toEqual([]);
  send("down", 2, 0, 0);
  send("move", 2, 100, 0);
  take(2);
  lose(2);
  send("move", 2, 150, 0);
  send("up", 2, 150, 0);
  expect(told()).toEqual(["drag from 0 0", "to 100 0", "undo"]);
  // It is no finger any more: the next one is alone.
  send("down", 3, 0, 0);
  send("up", 3, 0, 0);
  lose(3);
  expect(told()).toEqual(["finger at 0 0"]);
});

test("a mouse drags by less than a finger, and its middle button moves the drawing", () => {
  const { send, told } = dragging();
  const mouse = { pointerType: "mouse" };
  send("down", 1, 0, 0, mouse);
  send("move", 1, 4, 0, mouse);
  send("up", 1, 4, 0, mouse);
  expect(told()).toEqual(["drag from 0 0", "to 4 0", "end"]);
  send("down", 1, 0, 0, { ...mouse, button: 1 });
  send("move", 1, 1, 0, mouse);
  send("up", 1, 1, 0, { ...mouse, button: 1 });
  expect(told()).toEqual(["move 1 0"]);
});
