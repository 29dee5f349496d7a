/**
 * The plan on a canvas, to be worked on: what is chosen is marked, moved and framed. It knows nothing
 * of a page; `Drawing.svelte` puts it into one.
 */
import { paintAreas } from "../../lib/seatmap/areas";
import type { Box } from "../../lib/seatmap/box";
import { css, inkOn, type Palette, paletteOf, rgbOf, visible } from "../../lib/seatmap/colours";
import { type Drag, gestures } from "../../lib/seatmap/gestures";
import { FONT } from "../../lib/seatmap/paint";
import { centred, fit, kept, moved, type View, zoomed } from "../../lib/seatmap/view";
import { GREY, type Keys, type Place, textOf } from "./model/document";
import { at, boxOfArea, type Scene, within } from "./scene";

export interface BoardWishes {
  /** Something was tapped, or nothing: `isMore` adds to what is chosen. */
  picked: (key: number | undefined, isMore: boolean) => void;
  /** All of a row, by one of its seats. */
  pickedRow: (key: number, isMore: boolean) => void;
  /** All that is in a frame. */
  framed: (keys: Set<number>, isMore: boolean) => void;
  /** These were dragged so far, and are chosen now. */
  dragged: (keys: Keys, x: number, y: number) => void;
}

/**
 * What one pointer does. `choose`: a tap chooses; a drag moves what is under it, or frames from empty
 * paper. `several`: both add to what is chosen, and every drag frames. `hand`: a drag moves the view, as
 * a hand does paper.
 */
export type Tool = "choose" | "several" | "hand";

/** Seats show their numbers from this distance of neighbours on, in CSS pixels. */
const NUMBERS_PX = 16;
const ROW_NAMES_PX = 10;
const REACH_PX = 6;

type Gesture =
  { is: "frame"; from: Spot; to: Spot; isMore: boolean } | { is: "drag"; from: Spot; to: Spot; keys: Keys };
type Spot = { x: number; y: number };

export class Board {
  readonly #canvas: HTMLCanvasElement;
  readonly #g: CanvasRenderingContext2D;
  readonly #wishes: BoardWishes;
  #scene: Scene;
  #chosen: Keys = new Set();
  #current: number | undefined;
  #tool: Tool = "choose";
  #palette: Palette;
  #view: View = { left: 0, top: 0, scale: 1 };
  #width = 0;
  #height = 0;
  #ratio = 1;
  #frame: number | undefined;
  #gesture: Gesture | undefined;
  /** What was tapped last, and before. */
  #taps: [number | undefined, number | undefined] = [undefined, undefined];
  readonly #stopped = new AbortController();
  readonly #stops: (() => void)[] = [];

  constructor(canvas: HTMLCanvasElement, scene: Scene, wishes: BoardWishes) {
    const g = canvas.getContext("2d", { alpha: false });
    if (!g) throw new Error("this browser draws no canvas");
    this.#canvas = canvas;
    this.#g = g;
    this.#scene = scene;
    this.#wishes = wishes;
    this.#palette = paletteOf(canvas.parentElement!);
    this.#stops.push(
      gestures(canvas, {
        move: (byX, byY) => this.pan(byX, byY),
        zoom: (factor, atX, atY) => this.zoom(factor, atX, atY),
        tap: (x, y, _isFinger, isMore) => this.#tap({ x, y }, isMore),
        home: () => this.fit(),
        drag: (x, y, isMore) => this.#drag({ x, y }, isMore),
      }),
    );
    const { signal } = this.#stopped;
    canvas.addEventListener("dblclick", (event) => this.#pickRow(event.shiftKey), { signal });
    const sizes = new ResizeObserver(() => this.#resize());
    sizes.observe(canvas);
    this.#stops.push(() => sizes.disconnect());
    const themes = new MutationObserver(() => this.#repaint());
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.#stops.push(() => themes.disconnect());
    const isDark = matchMedia("(prefers-color-scheme: dark)");
    isDark.addEventListener("change", () => this.#repaint(), { signal });
    this.#resize();
  }

  /** Another plan, or another choice; `current` is the seat that a list is at. */
  show(scene: Scene, chosen: Keys, current: number | undefined): void {
    this.#scene = scene;
    this.#chosen = chosen;
    this.#current = current;
    this.#ask();
  }

  use(tool: Tool): void {
    this.#tool = tool;
  }

  /** The whole plan. */
  fit(): void {
    if (this.#width === 0) return;
    this.#view = fit(this.#scene, this.#width, this.#height);
    this.#ask();
  }

  zoom(factor: number, x = this.#width / 2, y = this.#height / 2): void {
    this.#look(zoomed(this.#view, factor, x, y));
  }

  pan(x: number, y: number): void {
    this.#look(moved(this.#view, x, y));
  }

  stop(): void {
    this.#stopped.abort();
    for (const stop of this.#stops) stop();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #look(view: View): void {
    this.#view = kept(view, this.#scene, this.#width, this.#height);
    this.#ask();
  }

  #repaint(): void {
    this.#palette = paletteOf(this.#canvas.parentElement!);
    this.#ask();
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    if (width === 0 || height === 0) return;
    const isFirst = this.#width === 0;
    const midX = this.#view.left + this.#width / 2 / this.#view.scale;
    const midY = this.#view.top + this.#height / 2 / this.#view.scale;
    this.#ratio = Math.min(3, devicePixelRatio || 1);
    this.#width = width;
    this.#height = height;
    this.#canvas.width = Math.round(width * this.#ratio);
    this.#canvas.height = Math.round(height * this.#ratio);
    if (isFirst) this.fit();
    else this.#look(centred(midX, midY, this.#view.scale, width, height));
  }

  /** A spot of the canvas in the plan's units. */
  #there({ x, y }: Spot): Spot {
    return { x: this.#view.left + x / this.#view.scale, y: this.#view.top + y / this.#view.scale };
  }

  #at(spot: Spot): number | undefined {
    const { x, y } = this.#there(spot);
    return at(this.#scene, x, y, REACH_PX / this.#view.scale);
  }

  #tap(spot: Spot, isMore: boolean): void {
    const key = this.#at(spot);
    this.#taps = [key, this.#taps[0]];
    if (this.#tool === "hand") return;
    if (key !== undefined || !this.#adds(isMore)) this.#wishes.picked(key, this.#adds(isMore));
  }

  /** To a browser, two neighbours that a finger taps in haste are a double click too. */
  #pickRow(isMore: boolean): void {
    const [key, before] = this.#taps;
    if (key === undefined || key !== before) return;
    this.#wishes.pickedRow(key, this.#adds(isMore));
  }

  #adds(isMore: boolean): boolean {
    return isMore || this.#tool === "several";
  }

  /** Nothing is chosen or moved before the drag has ended. */
  #drag(from: Spot, isMore: boolean): Drag | undefined {
    this.#taps = [undefined, undefined];
    if (this.#tool === "hand") return undefined;
    const key = this.#tool === "several" ? undefined : this.#at(from);
    const gesture: Gesture =
      key === undefined
        ? { is: "frame", from, to: from, isMore: this.#adds(isMore) }
        : { is: "drag", from, to: from, keys: this.#draggedBy(key, isMore) };
    this.#gesture = gesture;
    const over = () => {
      this.#gesture = undefined;
      this.#ask();
    };
    return {
      to: (x, y) => {
        gesture.to = { x, y };
        this.#ask();
      },
      end: () => {
        over();
        if (gesture.is === "frame") {
          this.#wishes.framed(within(this.#scene, this.#boxOf(gesture)), gesture.isMore);
        } else {
          const { x, y } = this.#wayOf(gesture);
          this.#wishes.dragged(gesture.keys, x, y);
        }
      },
      undo: over,
    };
  }

  /** Whoever drags one of those that are chosen drags them all. */
  #draggedBy(key: number, isMore: boolean): Keys {
    if (this.#chosen.has(key)) return this.#chosen;
    return new Set(isMore ? [...this.#chosen, key] : [key]);
  }

  /** How far something is dragged, in the plan's units. */
  #wayOf({ from, to }: Gesture): Spot {
    return { x: (to.x - from.x) / this.#view.scale, y: (to.y - from.y) / this.#view.scale };
  }

  #boxOf({ from, to }: Gesture): Box {
    const [one, other] = [this.#there(from), this.#there(to)];
    return {
      left: Math.min(one.x, other.x),
      top: Math.min(one.y, other.y),
      right: Math.max(one.x, other.x),
      bottom: Math.max(one.y, other.y),
    };
  }

  /** One frame at most, however much changes before it. */
  #ask(): void {
    this.#frame ??= requestAnimationFrame(() => {
      this.#frame = undefined;
      if (this.#width > 0) this.#draw();
    });
  }

  #draw(): void {
    const g = this.#g;
    const { left, top, scale } = this.#view;
    const { plan, areas, drawn } = this.#scene;
    g.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    g.fillStyle = css(this.#palette.paper);
    g.fillRect(0, 0, this.#width, this.#height);
    g.strokeStyle = css(this.#palette.line);
    g.lineWidth = 1;
    g.strokeRect(-left * scale, -top * scale, plan.size.width * scale, plan.size.height * scale);
    const gesture = this.#gesture;
    const isDrag = gesture?.is === "drag";
    const drag = isDrag ? this.#wayOf(gesture) : { x: 0, y: 0 };
    const chosen = isDrag ? gesture.keys : this.#chosen;
    const isDragged = (key: number) => isDrag && chosen.has(key);
    const shown = drawn.map((area, nth) =>
      isDragged(areas[nth]!.key) ? { ...area, x: area.x + drag.x, y: area.y + drag.y } : area,
    );
    paintAreas(g, shown, this.#view, this.#palette.muted);
    this.#drawSeats(chosen, drag, isDragged);
    this.#drawAisles();
    this.#drawRowNames();
    g.strokeStyle = css(this.#palette.accent);
    g.lineWidth = 2;
    for (const [nth, { key }] of areas.entries()) {
      if (!chosen.has(key)) continue;
      const box = boxOfArea(this.#scene, nth);
      const [x, y] = [(box.left + drag.x - left) * scale - 4, (box.top + drag.y - top) * scale - 4];
      g.strokeRect(x, y, (box.right - box.left) * scale + 8, (box.bottom - box.top) * scale + 8);
    }
    if (gesture?.is === "frame") {
      g.setLineDash([5, 4]);
      const { from, to } = gesture;
      g.strokeRect(from.x, from.y, to.x - from.x, to.y - from.y);
      g.setLineDash([]);
    }
  }

  #drawSeats(chosen: Keys, drag: Spot, isDragged: (key: number) => boolean): void {
    const g = this.#g;
    const px = this.#scene.pitch * this.#view.scale;
    const radius = Math.max(1.2, px * 0.4);
    const colours = new Map(
      this.#scene.plan.categories.map(({ name, color }) => [
        name,
        visible(rgbOf(color || GREY), this.#palette),
      ]),
    );
    const grey = rgbOf(GREY);
    const byCategory = new Map<string, [Place, number, number][]>();
    for (const place of this.#scene.seats) {
      const by = isDragged(place.key) ? drag : { x: 0, y: 0 };
      const x = (place.x + by.x - this.#view.left) * this.#view.scale;
      const y = (place.y + by.y - this.#view.top) * this.#view.scale;
      if (x < -px || y < -px || x > this.#width + px || y > this.#height + px) continue;
      const category = place.seat.category ?? "";
      const others = byCategory.get(category);
      if (others) others.push([place, x, y]);
      else byCategory.set(category, [[place, x, y]]);
    }
    const marked: [Place, number, number][] = [];
    for (const [category, seats] of byCategory) {
      const colour = colours.get(category) ?? grey;
      g.fillStyle = css(colour);
      g.beginPath();
      for (const [place, x, y] of seats) {
        g.moveTo(x + radius, y);
        // A wheelchair place is a square: shapes tell what colours must not tell alone.
        if (place.seat.wheelchair) g.rect(x - radius, y - radius, radius * 2, radius * 2);
        else g.arc(x, y, radius, 0, 2 * Math.PI);
        if (chosen.has(place.key) || place.key === this.#current) marked.push([place, x, y]);
      }
      g.fill();
      if (px >= NUMBERS_PX) {
        g.fillStyle = inkOn(colour);
        g.font = `600 ${Math.round(Math.min(14, px * 0.38))}px ${FONT}`;
        g.textAlign = "center";
        g.textBaseline = "middle";
        for (const [{ seat }, x, y] of seats) g.fillText(textOf(seat.seat_number), x, y);
      }
    }
    for (const [{ key }, x, y] of marked) {
      g.lineWidth = Math.max(1.5, px * 0.09);
      g.strokeStyle = css(chosen.has(key) ? this.#palette.accent : this.#palette.ink);
      g.beginPath();
      g.arc(x, y, radius + Math.max(1.5, px * 0.1), 0, 2 * Math.PI);
      g.stroke();
      if (key !== this.#current) continue;
      g.strokeStyle = css(this.#palette.ink);
      g.strokeRect(x - radius - 4, y - radius - 4, radius * 2 + 8, radius * 2 + 8);
    }
  }

  /** A line in the middle of each aisle. */
  #drawAisles(): void {
    const { left, top, scale } = this.#view;
    const g = this.#g;
    const px = this.#scene.pitch * scale;
    g.strokeStyle = css(this.#palette.muted);
    g.lineWidth = Math.max(1, px * 0.06);
    g.setLineDash([3, 3]);
    g.beginPath();
    for (const [nth, place] of this.#scene.seats.entries()) {
      const next = this.#scene.seats[nth + 1];
      if (!next || !this.#scene.aisles.has(place.key)) continue;
      const length = Math.hypot(next.x - place.x, next.y - place.y) || 1;
      const across = { x: -(next.y - place.y) / length, y: (next.x - place.x) / length };
      const [x, y] = [((place.x + next.x) / 2 - left) * scale, ((place.y + next.y) / 2 - top) * scale];
      g.moveTo(x - across.x * px * 0.4, y - across.y * px * 0.4);
      g.lineTo(x + across.x * px * 0.4, y + across.y * px * 0.4);
    }
    g.stroke();
    g.setLineDash([]);
  }

  #drawRowNames(): void {
    const { left, top, scale } = this.#view;
    const px = this.#scene.pitch * scale;
    if (px < ROW_NAMES_PX) return;
    const g = this.#g;
    g.font = `600 ${Math.round(Math.min(15, px * 0.5))}px ${FONT}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillStyle = css(this.#palette.muted);
    let before: Place | undefined;
    for (const [nth, place] of this.#scene.seats.entries()) {
      const isFirst = place.row !== before?.row;
      before = place;
      if (!isFirst) continue;
      // Beside the first seat, in line with the second.
      const next = this.#scene.seats[nth + 1];
      const way = next?.row === place.row ? { x: place.x - next.x, y: place.y - next.y } : { x: -1, y: 0 };
      const length = Math.hypot(way.x, way.y) || 1;
      const x = (place.x + (way.x / length) * this.#scene.pitch - left) * scale;
      const y = (place.y + (way.y / length) * this.#scene.pitch - top) * scale;
      g.fillText(textOf(place.row.row_number), x, y);
    }
  }
}
