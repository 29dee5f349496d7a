/**
 * The seat map on a canvas: 50,000 seats smooth in pan and zoom. From afar it shows sections,
 * nearer seats as dots, then as shapes, then with their numbers. It knows nothing of a page:
 * `SeatMap.svelte` puts it into one.
 */
import { paintAreas } from "./areas";
import { paletteOf } from "./colours";
import { gestures } from "./gestures";
import type { House } from "./house";
import { isInside } from "./hull";
import {
  FONT,
  paintChosen,
  paintOf,
  paintRing,
  paintSection,
  type Paint,
  type SectionText,
  textOf,
  SHAPES_PX,
} from "./paint";
import { Tiles } from "./tiles";
import { around, centred, fit, kept, moved, type View, zoomed } from "./view";

export interface MapOptions {
  /** A seat was tapped, near enough to be meant. */
  tapped?: (seat: number) => void;
  /** The mouse is on this seat, or on none. */
  pointed?: (seat: number | undefined) => void;
  /** What stands in a section seen from afar: its name first. */
  linesOf?: (section: number) => string[];
  /**
   * A seat's colour in place of its category's, as any CSS colour: for a heat map. Call `repaint`
   * when it changes.
   */
  colourOf?: ((seat: number) => string | undefined) | undefined;
  /** How long each frame took to draw: for measurements. */
  drew?: (drawMs: number) => void;
}

/** Below this distance of neighbours sections are shown instead of seats. */
const SECTIONS_PX = 5;
/** Seats nearer to each other than this are too small to be meant: a tap comes nearer first. */
const FINGER_PX = 20;
const MOUSE_PX = 9;
/** Row names stand beside their rows from this distance on. */
const ROW_NAMES_PX = 15;
const GLIDE_MS = 220;
/** The scale is at rest, and drawn exactly, after so long. */
const REST_MS = 110;

export class SeatCanvas {
  readonly #canvas: HTMLCanvasElement;
  readonly #g: CanvasRenderingContext2D;
  readonly #house: House;
  readonly #options: MapOptions;
  #paint: Paint;
  #tiles: Tiles;
  #view: View = { left: 0, top: 0, scale: 1 };
  #width = 0;
  #height = 0;
  #ratio = 1;
  #chosen: ReadonlySet<number> = new Set();
  #offered: ReadonlySet<number> = new Set();
  #lost: ReadonlySet<number> = new Set();
  #pointedSeat: number | undefined;
  #pointedSection: number | undefined;
  #frame: number | undefined;
  #zoomedAt = 0;
  #glide: { from: View; to: View; start: number } | undefined;
  #isPlaced = false;
  /** What stands in each section, until one of its seats changes. */
  readonly #lines = new Map<number, SectionText>();
  readonly #stops: (() => void)[] = [];

  constructor(canvas: HTMLCanvasElement, house: House, options: MapOptions = {}) {
    const g = canvas.getContext("2d", { alpha: false });
    if (!g) throw new Error("this browser draws no canvas");
    this.#canvas = canvas;
    this.#g = g;
    // A picture with a name, and with keys that move it.
    canvas.role = "img";
    canvas.tabIndex = 0;
    this.#house = house;
    this.#options = options;
    this.#paint = paintOf(house, paletteOf(canvas.parentElement!), options.colourOf);
    this.#tiles = new Tiles(house, this.#paint, 1);
    this.#stops.push(
      gestures(canvas, {
        move: (byX, byY) => this.#moveTo(moved(this.#view, byX, byY)),
        zoom: (factor, atX, atY) => this.zoom(factor, atX, atY),
        tap: (x, y, isFinger) => this.#tap(x, y, isFinger),
        point: (at) => this.#point(at),
        home: () => this.fit(),
      }),
    );
    this.#stops.push(
      house.watch((changed) => {
        this.#tiles.stale(changed);
        for (const seat of changed) this.#lines.delete(this.#house.section[seat]!);
        this.#ask();
      }),
    );
    const sizes = new ResizeObserver(() => this.#resize());
    sizes.observe(canvas);
    this.#stops.push(() => sizes.disconnect());
    const themes = new MutationObserver(() => this.repaint());
    themes.observe(document.documentElement, { attributeFilter: ["data-theme"] });
    this.#stops.push(() => themes.disconnect());
    const isDark = matchMedia("(prefers-color-scheme: dark)");
    const repaint = () => this.repaint();
    isDark.addEventListener("change", repaint);
    this.#stops.push(() => isDark.removeEventListener("change", repaint));
    this.#resize();
  }

  /** The chosen seats, drawn with a tick. */
  choose(seats: ReadonlySet<number>): void {
    this.#chosen = new Set(seats);
    this.#ask();
  }

  /** Seats that are offered, drawn in a broken ring. */
  offer(seats: ReadonlySet<number>): void {
    this.#offered = new Set(seats);
    this.#ask();
  }

  /** Seats that were chosen and went to somebody else, drawn in a ring. */
  lose(seats: ReadonlySet<number>): void {
    this.#lost = new Set(seats);
    this.#ask();
  }

  /** Draws everything anew: the theme changed, or what `colourOf` says. */
  repaint(): void {
    this.#paint = paintOf(this.#house, paletteOf(this.#canvas.parentElement!), this.#options.colourOf);
    this.#tiles.reset(this.#paint, this.#ratio);
    this.#ask();
  }

  /** The whole house. */
  fit(): void {
    this.#glideTo(fit(this.#house, this.#width, this.#height));
  }

  /** Nearer by a factor, around a point of the map or its middle. */
  zoom(factor: number, atX = this.#width / 2, atY = this.#height / 2): void {
    this.#zoomedAt = performance.now();
    this.#moveTo(zoomed(this.#view, factor, atX, atY));
  }

  /** Moves by so many CSS pixels. */
  pan(byX: number, byY: number): void {
    this.#moveTo(moved(this.#view, byX, byY));
  }

  /** Nearer in one step, as a button does it. */
  step(factor: number): void {
    const target = this.#glide?.to ?? this.#view;
    this.#glideTo(zoomed(target, factor, this.#width / 2, this.#height / 2));
  }

  /** Shows these seats, near enough to be told apart. */
  show(seats: readonly number[]): void {
    if (seats.length === 0) return;
    const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity };
    for (const seat of seats) {
      box.left = Math.min(box.left, this.#house.x[seat]!);
      box.right = Math.max(box.right, this.#house.x[seat]!);
      box.top = Math.min(box.top, this.#house.y[seat]!);
      box.bottom = Math.max(box.bottom, this.#house.y[seat]!);
    }
    const reach = this.#house.pitch * 4;
    const wide = {
      left: box.left - reach,
      top: box.top - reach,
      right: box.right + reach,
      bottom: box.bottom + reach,
    };
    this.#glideTo(around(wide, this.#house, this.#width, this.#height));
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
  }

  #resize(): void {
    const { clientWidth: width, clientHeight: height } = this.#canvas;
    const ratio = Math.min(3, devicePixelRatio || 1);
    if (width === 0 || height === 0) return;
    if (width === this.#width && height === this.#height && ratio === this.#ratio) return;
    const middle = {
      x: this.#view.left + this.#width / 2 / this.#view.scale,
      y: this.#view.top + this.#height / 2 / this.#view.scale,
    };
    this.#width = width;
    this.#height = height;
    if (ratio !== this.#ratio) this.#tiles.reset(this.#paint, ratio);
    this.#ratio = ratio;
    this.#canvas.width = Math.round(width * ratio);
    this.#canvas.height = Math.round(height * ratio);
    this.#view = this.#isPlaced
      ? kept(centred(middle.x, middle.y, this.#view.scale, width, height), this.#house, width, height)
      : fit(this.#house, width, height);
    this.#isPlaced = true;
    this.#ask();
  }

  get #showsSections(): boolean {
    return this.#house.sections.length > 1 && this.#house.pitch * this.#view.scale < SECTIONS_PX;
  }

  #moveTo(view: View): void {
    this.#glide = undefined;
    this.#view = kept(view, this.#house, this.#width, this.#height);
    this.#ask();
  }

  #glideTo(view: View): void {
    const to = kept(view, this.#house, this.#width, this.#height);
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.#moveTo(to);
    this.#glide = { from: this.#view, to, start: performance.now() };
    this.#ask();
  }

  #tap(x: number, y: number, isFinger: boolean): void {
    const px = this.#house.pitch * this.#view.scale;
    const hx = this.#view.left + x / this.#view.scale;
    const hy = this.#view.top + y / this.#view.scale;
    if (this.#showsSections) {
      const section = this.#sectionAt(hx, hy);
      if (section !== undefined) {
        const view = around(this.#house.sections[section]!.box, this.#house, this.#width, this.#height);
        // A section larger than the map would still be one: come so near that its seats show, where
        // the tap was.
        const least = (SECTIONS_PX * 1.6) / this.#house.pitch;
        this.#glideTo(view.scale >= least ? view : centred(hx, hy, least, this.#width, this.#height));
      }
      return;
    }
    if (px < (isFinger ? FINGER_PX : MOUSE_PX)) {
      const scale = (FINGER_PX * 1.3) / this.#house.pitch;
      this.#glideTo(centred(hx, hy, scale, this.#width, this.#height));
      return;
    }
    const seat = this.#house.grid.nearest(hx, hy, Math.max(this.#house.pitch * 0.55, 12 / this.#view.scale));
    if (seat !== undefined) this.#options.tapped?.(seat);
  }

  #point(at: { x: number; y: number } | undefined): void {
    let seat: number | undefined;
    let section: number | undefined;
    if (at) {
      const hx = this.#view.left + at.x / this.#view.scale;
      const hy = this.#view.top + at.y / this.#view.scale;
      if (this.#showsSections) section = this.#sectionAt(hx, hy);
      else seat = this.#house.grid.nearest(hx, hy, this.#house.pitch * 0.55);
    }
    this.#canvas.classList.toggle("on-seat", seat !== undefined || section !== undefined);
    if (seat === this.#pointedSeat && section === this.#pointedSection) return;
    if (seat !== this.#pointedSeat) this.#options.pointed?.(seat);
    this.#pointedSeat = seat;
    this.#pointedSection = section;
    this.#ask();
  }

  /** Outlines may overlap: the one whose middle is nearest is meant. */
  #sectionAt(x: number, y: number): number | undefined {
    let found: number | undefined;
    let best = Infinity;
    for (const [index, section] of this.#house.sections.entries()) {
      const distance = Math.hypot(section.x - x, section.y - y);
      if (distance >= best || !isInside(section.hull, x, y)) continue;
      best = distance;
      found = index;
    }
    return found;
  }

  /** One frame at most, however much changes before it. */
  #ask(): void {
    this.#frame ??= requestAnimationFrame((now) => {
      this.#frame = undefined;
      this.#draw(now);
    });
  }

  #draw(now: number): void {
    if (this.#width === 0) return;
    const start = performance.now();
    this.#glideOn(now);
    const g = this.#g;
    g.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    g.fillStyle = this.#paint.paper;
    g.fillRect(0, 0, this.#width, this.#height);
    if (this.#showsSections) {
      this.#drawSections();
    } else {
      const isMoving = this.#glide !== undefined || now - this.#zoomedAt < REST_MS;
      const isDone = this.#tiles.draw(g, this.#view, this.#width, this.#height, isMoving);
      g.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
      this.#drawRowNames();
      if (!isDone || isMoving) this.#ask();
    }
    this.#drawMarks();
    if (this.#glide) this.#ask();
    this.#options.drew?.(performance.now() - start);
  }

  #glideOn(now: number): void {
    const glide = this.#glide;
    if (!glide) return;
    const share = Math.min(1, Math.max(0, (now - glide.start) / GLIDE_MS));
    const eased = 1 - (1 - share) ** 3;
    const { from, to } = glide;
    if (share >= 1) {
      this.#glide = undefined;
      this.#view = to;
      return;
    }
    // The scale grows by factors, and the middle moves with it, so that the way looks straight.
    const scale = from.scale * (to.scale / from.scale) ** eased;
    const way =
      from.scale === to.scale ? eased : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
    const mid = (view: View, axis: "left" | "top", size: number) => view[axis] + size / 2 / view.scale;
    const [x0, x1] = [mid(from, "left", this.#width), mid(to, "left", this.#width)];
    const [y0, y1] = [mid(from, "top", this.#height), mid(to, "top", this.#height)];
    this.#view = centred(x0 + (x1 - x0) * way, y0 + (y1 - y0) * way, scale, this.#width, this.#height);
  }

  #drawSections(): void {
    paintAreas(this.#g, this.#house.areas, this.#view, this.#paint.palette.muted);
    for (const index of this.#house.sections.keys()) {
      let lines = this.#lines.get(index);
      if (!lines) {
        lines = textOf(this.#g, this.#options.linesOf?.(index) ?? [this.#house.sections[index]!.name]);
        this.#lines.set(index, lines);
      }
      paintSection(
        this.#g,
        this.#house,
        this.#paint,
        index,
        lines,
        this.#view,
        index === this.#pointedSection,
      );
    }
  }

  #drawRowNames(): void {
    const { scale, left, top } = this.#view;
    const px = this.#house.pitch * scale;
    if (px < ROW_NAMES_PX) return;
    const g = this.#g;
    g.font = `600 ${Math.round(Math.min(15, px * 0.42))}px ${FONT}`;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillStyle = `rgb(${this.#paint.palette.muted.join(",")})`;
    for (const row of this.#house.rows) {
      const first = row.seats[0];
      if (first === undefined || row.name === "") continue;
      const hx = this.#house.x[first]! - this.#house.pitch;
      const hy = this.#house.y[first]!;
      const x = (hx - left) * scale;
      const y = (hy - top) * scale;
      if (x < -px || y < -px || x > this.#width + px || y > this.#height + px) continue;
      if (this.#house.grid.nearest(hx, hy, this.#house.pitch * 0.7) !== undefined) continue;
      g.fillText(row.name, x, y);
    }
  }

  #drawMarks(): void {
    const { scale, left, top } = this.#view;
    const px = this.#house.pitch * scale;
    const at = (seat: number) =>
      [(this.#house.x[seat]! - left) * scale, (this.#house.y[seat]! - top) * scale] as const;
    for (const seat of this.#chosen) paintChosen(this.#g, this.#paint, ...at(seat), px);
    for (const seat of this.#lost) paintRing(this.#g, this.#paint.palette.warn, ...at(seat), px);
    for (const seat of this.#offered) paintRing(this.#g, this.#paint.palette.accent, ...at(seat), px, true);
    if (this.#pointedSeat !== undefined && px >= SHAPES_PX / 2) {
      paintRing(this.#g, this.#paint.palette.ink, ...at(this.#pointedSeat), px);
    }
  }
}
