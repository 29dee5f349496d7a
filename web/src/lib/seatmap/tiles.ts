/**
 * The drawn seats, kept in tiles: panning and zooming copy tiles, and only tiles that come into
 * sight are drawn, a few a frame. While the scale changes, tiles of the scale before stand in,
 * enlarged or reduced.
 */
import { paintAreas } from "./areas";
import type { House } from "./house";
import { type Paint, paintSeats } from "./paint";
import type { View } from "./view";

/** A tile's side, in CSS pixels. */
const SIDE = 256;
/** A frame draws tiles for so long at most, but always one. */
const BUDGET_MS = 3;
/** Another scale is drawn anew once it differs by this factor. */
const STRETCH = 1.5;
/** More tiles than fill any screen, twice. */
const KEPT = 160;

interface Tile {
  canvas: HTMLCanvasElement;
  g: CanvasRenderingContext2D;
  column: number;
  row: number;
  isStale: boolean;
}

interface Layer {
  scale: number;
  tiles: Map<number, Tile>;
}

interface Span {
  fromColumn: number;
  toColumn: number;
  fromRow: number;
  toRow: number;
}

export class Tiles {
  readonly #house: House;
  #paint: Paint;
  #ratio: number;
  #now: Layer | undefined;
  #before: Layer | undefined;
  #unused: Tile[] = [];

  constructor(house: House, paint: Paint, ratio: number) {
    this.#house = house;
    this.#paint = paint;
    this.#ratio = ratio;
  }

  /** Other colours, or another screen: nothing that was drawn is of use. */
  reset(paint: Paint, ratio: number): void {
    if (ratio !== this.#ratio) this.#unused = [];
    else for (const layer of [this.#now, this.#before]) if (layer) this.#unused.push(...layer.tiles.values());
    this.#paint = paint;
    this.#ratio = ratio;
    this.#now = undefined;
    this.#before = undefined;
  }

  /** These seats look different now. */
  stale(seats: readonly number[]): void {
    const reach = this.#house.pitch * 0.5;
    for (const layer of [this.#now, this.#before]) {
      if (!layer) continue;
      const side = SIDE / layer.scale;
      for (const seat of seats) {
        const x = this.#house.x[seat]!;
        const y = this.#house.y[seat]!;
        // A seat on the border shows in up to four tiles.
        const toColumn = Math.floor((x + reach) / side);
        const toRow = Math.floor((y + reach) / side);
        for (let row = Math.floor((y - reach) / side); row <= toRow; row += 1) {
          for (let column = Math.floor((x - reach) / side); column <= toColumn; column += 1) {
            const tile = layer.tiles.get(keyOf(column, row));
            if (tile) tile.isStale = true;
          }
        }
      }
    }
  }

  /**
   * Draws what is seen. `isMoving` says that the scale goes on changing, so that drawing it exactly
   * would be in vain. @returns whether all of it is drawn, and up to date.
   */
  draw(g: CanvasRenderingContext2D, view: View, width: number, height: number, isMoving: boolean): boolean {
    this.#chooseLayer(view.scale, isMoving);
    const now = this.#now!;
    // Tiles of this very scale lie on whole pixels: nothing to smooth, and copying is quicker.
    g.imageSmoothingEnabled = now.scale !== view.scale;
    const span = spanOf(now.scale, view, width, height);
    if (this.#before && !isFull(now, span)) this.#copyAll(g, this.#before, view, width, height);
    this.#copyAll(g, now, view, width, height);
    const isWhole = this.#fill(g, now, span, view);
    // Tiles of another scale stand in only while a tile of this one is missing.
    if (isWhole && this.#before) {
      this.#unused.push(...this.#before.tiles.values());
      this.#before = undefined;
    }
    return isWhole && !hasStale(now, span) && now.scale === view.scale;
  }

  #chooseLayer(scale: number, isMoving: boolean): void {
    const now = this.#now;
    if (now) {
      if (now.scale === scale) return;
      const factor = Math.max(now.scale / scale, scale / now.scale);
      if (isMoving && factor < STRETCH) return;
      // A layer that was never filled is of less use to stand in than the one before it.
      const keepsBefore = this.#before !== undefined && now.tiles.size < 4;
      const freed = keepsBefore ? now : this.#before;
      if (freed) this.#unused.push(...freed.tiles.values());
      if (!keepsBefore) this.#before = now;
    }
    this.#now = { scale, tiles: new Map() };
  }

  /**
   * Draws missing tiles first, then stale ones, as long as there is time. Copying one is what makes
   * the browser really draw it, so that counts.
   */
  #fill(g: CanvasRenderingContext2D, layer: Layer, span: Span, view: View): boolean {
    const end = performance.now() + BUDGET_MS;
    let isFirst = true;
    let isWhole = true;
    for (const wants of ["missing", "stale"] as const) {
      for (let row = span.fromRow; row <= span.toRow; row += 1) {
        for (let column = span.fromColumn; column <= span.toColumn; column += 1) {
          const tile = layer.tiles.get(keyOf(column, row));
          const isWanted = wants === "missing" ? !tile : tile !== undefined && tile.isStale;
          if (!isWanted) continue;
          if (isFirst || performance.now() < end) {
            const drawn = this.#drawTile(layer, column, row);
            if (drawn) this.#copy(g, layer, drawn, view);
          } else if (wants === "missing") {
            isWhole = false;
          }
          isFirst = false;
        }
      }
    }
    if (layer.tiles.size > KEPT) this.#drop(layer, span);
    return isWhole;
  }

  #drawTile(layer: Layer, column: number, row: number): Tile | undefined {
    const key = keyOf(column, row);
    let tile = layer.tiles.get(key) ?? this.#unused.pop();
    if (!tile) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = Math.ceil(SIDE * this.#ratio);
      const g = canvas.getContext("2d", { alpha: false });
      if (!g) return undefined;
      tile = { canvas, g, column, row, isStale: false };
    }
    Object.assign(tile, { column, row, isStale: false });
    layer.tiles.set(key, tile);
    const { g } = tile;
    const { scale } = layer;
    const side = SIDE / scale;
    const margin = this.#house.pitch * 0.5;
    const box = {
      left: column * side - margin,
      top: row * side - margin,
      right: (column + 1) * side + margin,
      bottom: (row + 1) * side + margin,
    };
    g.setTransform(this.#ratio, 0, 0, this.#ratio, 0, 0);
    g.fillStyle = this.#paint.paper;
    g.fillRect(0, 0, SIDE + 1, SIDE + 1);
    const corner = { left: column * side, top: row * side, scale };
    paintAreas(g, this.#house.areas, corner, this.#paint.palette.muted);
    paintSeats(g, this.#house, this.#paint, box, scale, -column * SIDE, -row * SIDE);
    return tile;
  }

  #copyAll(g: CanvasRenderingContext2D, layer: Layer, view: View, width: number, height: number): void {
    const span = spanOf(layer.scale, view, width, height);
    for (const tile of layer.tiles.values()) if (isIn(span, tile)) this.#copy(g, layer, tile, view);
  }

  #copy(g: CanvasRenderingContext2D, layer: Layer, tile: Tile, view: View): void {
    const side = (SIDE / layer.scale) * view.scale;
    const ratio = this.#ratio;
    // Borders are on whole pixels of the screen, so that no seam shows.
    const snap = (px: number) => Math.round(px * ratio) / ratio;
    const left = snap(tile.column * side - view.left * view.scale);
    const top = snap(tile.row * side - view.top * view.scale);
    const right = snap((tile.column + 1) * side - view.left * view.scale);
    const bottom = snap((tile.row + 1) * side - view.top * view.scale);
    g.drawImage(tile.canvas, 0, 0, SIDE * ratio, SIDE * ratio, left, top, right - left, bottom - top);
  }

  #drop(layer: Layer, span: Span): void {
    for (const [key, tile] of layer.tiles) {
      if (isIn(span, tile, 2)) continue;
      layer.tiles.delete(key);
      this.#unused.push(tile);
    }
    this.#unused.length = Math.min(this.#unused.length, KEPT);
  }
}

function isIn(span: Span, { column, row }: Tile, margin = 0): boolean {
  const isInColumns = column >= span.fromColumn - margin && column <= span.toColumn + margin;
  return isInColumns && row >= span.fromRow - margin && row <= span.toRow + margin;
}

function isFull(layer: Layer, span: Span): boolean {
  for (let row = span.fromRow; row <= span.toRow; row += 1) {
    for (let column = span.fromColumn; column <= span.toColumn; column += 1) {
      if (!layer.tiles.has(keyOf(column, row))) return false;
    }
  }
  return true;
}

function hasStale(layer: Layer, span: Span): boolean {
  for (const tile of layer.tiles.values()) if (tile.isStale && isIn(span, tile)) return true;
  return false;
}

function spanOf(scale: number, view: View, width: number, height: number): Span {
  const side = SIDE / scale;
  return {
    fromColumn: Math.floor(view.left / side),
    toColumn: Math.floor((view.left + width / view.scale) / side),
    fromRow: Math.floor(view.top / side),
    toRow: Math.floor((view.top + height / view.scale) / side),
  };
}

function keyOf(column: number, row: number): number {
  return (row + 32_768) * 65_536 + column + 32_768;
}
