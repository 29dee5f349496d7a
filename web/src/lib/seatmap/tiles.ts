/**
 * The drawn seats, kept in tiles: panning and zooming copy tiles, and only tiles that come into sight are drawn, a few
 * a frame. While the scale changes, tiles of the scale before stand in, enlarged or reduced.
 */
import type { House } from "./house";
import { type Paint, paintSeats } from "./paint";
import type { View } from "./view";

/** A tile's side, in CSS pixels. */
const SIDE = 224;
/** A frame draws tiles for so long at most, but always one. */
const BUDGET_MS = 4;
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
  isDrawn: boolean;
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
   * Draws what is seen. `isMoving` says that the scale goes on changing, so that drawing it exactly would be in vain.
   * @returns whether all of it is drawn, and up to date.
   */
  draw(g: CanvasRenderingContext2D, view: View, width: number, height: number, isMoving: boolean): boolean {
    this.#chooseLayer(view.scale, isMoving);
    const now = this.#now!;
    const span = spanOf(now.scale, view, width, height);
    const isWhole = this.#fill(now, span);
    if (!isWhole && this.#before) this.#copy(g, this.#before, view, width, height);
    this.#copy(g, now, view, width, height);
    // Tiles of another scale stand in only while a tile of this one is missing.
    if (isWhole && this.#before) {
      this.#unused.push(...this.#before.tiles.values());
      this.#before = undefined;
    }
    return isWhole && !this.#hasStale(now, span) && (isMoving || now.scale === view.scale);
  }

  #chooseLayer(scale: number, isMoving: boolean): void {
    const now = this.#now;
    if (now) {
      if (now.scale === scale) return;
      const factor = Math.max(now.scale / scale, scale / now.scale);
      if (isMoving && factor < STRETCH) return;
      // A layer that was never filled is of less use to stand in than the one before it.
      const drawn = [...now.tiles.values()].filter((tile) => tile.isDrawn).length;
      const keepsBefore = this.#before !== undefined && drawn < 4;
      const freed = keepsBefore ? now : this.#before;
      if (freed) this.#unused.push(...freed.tiles.values());
      if (!keepsBefore) this.#before = now;
    }
    this.#now = { scale, tiles: new Map() };
  }

  /** Draws missing tiles first, then stale ones, as long as there is time. */
  #fill(layer: Layer, span: Span): boolean {
    const start = performance.now();
    const hasTime = () => performance.now() - start < BUDGET_MS;
    let isFirst = true;
    let isWhole = true;
    for (const wants of ["missing", "stale"] as const) {
      for (let row = span.fromRow; row <= span.toRow; row += 1) {
        for (let column = span.fromColumn; column <= span.toColumn; column += 1) {
          const tile = layer.tiles.get(keyOf(column, row));
          const isWanted = wants === "missing" ? !tile : tile !== undefined && tile.isStale;
          if (!isWanted) continue;
          if (isFirst || hasTime()) this.#drawTile(layer, column, row);
          else if (wants === "missing") isWhole = false;
          isFirst = false;
        }
      }
    }
    if (layer.tiles.size > KEPT) this.#drop(layer, span);
    return isWhole;
  }

  #drawTile(layer: Layer, column: number, row: number): void {
    const key = keyOf(column, row);
    let tile = layer.tiles.get(key) ?? this.#unused.pop();
    if (!tile) {
      const canvas = document.createElement("canvas");
      canvas.width = canvas.height = Math.ceil(SIDE * this.#ratio);
      const g = canvas.getContext("2d", { alpha: false });
      if (!g) return;
      tile = { canvas, g, column, row, isStale: false, isDrawn: false };
    }
    Object.assign(tile, { column, row, isStale: false, isDrawn: true });
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
    paintSeats(g, this.#house, this.#paint, box, scale, -column * SIDE, -row * SIDE);
  }

  #copy(g: CanvasRenderingContext2D, layer: Layer, view: View, width: number, height: number): void {
    const span = spanOf(layer.scale, view, width, height);
    const side = (SIDE / layer.scale) * view.scale;
    const ratio = this.#ratio;
    const snap = (px: number) => Math.round(px * ratio) / ratio;
    const originX = -view.left * view.scale;
    const originY = -view.top * view.scale;
    for (const tile of layer.tiles.values()) {
      if (tile.column < span.fromColumn || tile.column > span.toColumn) continue;
      if (tile.row < span.fromRow || tile.row > span.toRow) continue;
      // Borders are on whole pixels of the screen, so that no seam shows.
      const left = snap(originX + tile.column * side);
      const top = snap(originY + tile.row * side);
      const right = snap(originX + (tile.column + 1) * side);
      const bottom = snap(originY + (tile.row + 1) * side);
      g.drawImage(tile.canvas, 0, 0, SIDE * ratio, SIDE * ratio, left, top, right - left, bottom - top);
    }
  }

  #hasStale(layer: Layer, span: Span): boolean {
    for (const tile of layer.tiles.values()) {
      const isSeen =
        tile.column >= span.fromColumn &&
        tile.column <= span.toColumn &&
        tile.row >= span.fromRow &&
        tile.row <= span.toRow;
      if (isSeen && tile.isStale) return true;
    }
    return false;
  }

  #drop(layer: Layer, span: Span): void {
    for (const [key, tile] of layer.tiles) {
      const isNear =
        tile.column >= span.fromColumn - 2 &&
        tile.column <= span.toColumn + 2 &&
        tile.row >= span.fromRow - 2 &&
        tile.row <= span.toRow + 2;
      if (isNear) continue;
      layer.tiles.delete(key);
      this.#unused.push(tile);
    }
    this.#unused.length = Math.min(this.#unused.length, KEPT);
  }
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
