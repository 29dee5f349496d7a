/** How seats and sections look. Free, held, sold and blocked differ by shape as well as by colour. */
import { css, inkOn, mixed, type Palette, type Rgb, rgbOf, visible } from "./colours";
import { widthAt } from "./hull";
import { BLOCKED, FREE, HELD, type House, SOLD, STATUSES } from "./house";

/** From this distance of neighbours on, a seat has a shape and not only a dot. */
export const SHAPES_PX = 11;
/** From this distance on, it has its number. */
export const NUMBERS_PX = 22;
export const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';

/** The colours of one house in one theme. */
export interface Paint {
  palette: Palette;
  /** By category. */
  fills: string[];
  inks: string[];
  /** Seats that are gone. */
  gone: string;
  paper: string;
  /** For a heat map: a seat's colour in place of its category's. */
  colourOf?: ((seat: number) => string | undefined) | undefined;
}

export function paintOf(house: House, palette: Palette, colourOf?: Paint["colourOf"]): Paint {
  const shown = house.categories.map((category) => visible(rgbOf(category.color), palette));
  return {
    palette,
    fills: shown.map(css),
    inks: shown.map(inkOn),
    gone: css(mixed(palette.muted, palette.paper, 0.25)),
    paper: css(palette.paper),
    colourOf,
  };
}

type Groups = Map<string, number[]>;

/**
 * Draws the seats whose middle is in this box of the house. `dx`, `dy` and `scale` lead from the
 * house to the canvas. Seats of one look are one path, since changing the colour is what costs.
 */
export function paintSeats(
  g: CanvasRenderingContext2D,
  house: House,
  paint: Paint,
  box: { left: number; top: number; right: number; bottom: number },
  scale: number,
  dx: number,
  dy: number,
): void {
  const px = house.pitch * scale;
  const groups = STATUSES.map((): Groups => new Map());
  house.grid.each(box.left, box.top, box.right, box.bottom, (seat) => {
    const status = house.status[seat]!;
    const isGone = status === SOLD || status === BLOCKED;
    const own = paint.colourOf?.(seat);
    const colour = own ?? (isGone ? paint.gone : paint.fills[house.category[seat]!]!);
    const group = groups[status]!.get(colour);
    if (group) group.push(seat);
    else groups[status]!.set(colour, [seat]);
  });
  const x = (seat: number) => house.x[seat]! * scale + dx;
  const y = (seat: number) => house.y[seat]! * scale + dy;
  if (px < SHAPES_PX) paintDots(g, groups, px, x, y);
  else paintShapes(g, groups, px, x, y);
  if (px >= NUMBERS_PX) paintNumbers(g, house, paint, groups, px, x, y);
}

type Along = (seat: number) => number;

/** Far away: a square is free, a bar lying is held, a small square sold, a bar standing blocked. */
function paintDots(g: CanvasRenderingContext2D, groups: Groups[], px: number, x: Along, y: Along): void {
  const side = Math.max(1.4, px * 0.72);
  const sizes = [
    [side, side],
    [side, side * 0.4],
    [side * 0.42, side * 0.42],
    [side * 0.25, side * 0.8],
  ] as const;
  for (const [status, byColour] of groups.entries()) {
    const [width, height] = sizes[status]!;
    for (const [colour, seats] of byColour) {
      g.fillStyle = colour;
      for (const seat of seats) g.fillRect(x(seat) - width / 2, y(seat) - height / 2, width, height);
    }
  }
}

/** Nearer: a disc is free, a ring held, a cross sold, a bar standing blocked. */
function paintShapes(g: CanvasRenderingContext2D, groups: Groups[], px: number, x: Along, y: Along): void {
  const radius = px * 0.4;
  g.lineCap = "round";
  for (const [colour, seats] of groups[FREE]!) {
    g.fillStyle = colour;
    g.beginPath();
    for (const seat of seats) {
      g.moveTo(x(seat) + radius, y(seat));
      g.arc(x(seat), y(seat), radius, 0, 2 * Math.PI);
    }
    g.fill();
  }
  const thin = Math.max(1.25, px * 0.07);
  for (const [colour, seats] of groups[HELD]!) {
    g.strokeStyle = colour;
    g.lineWidth = thin * 1.4;
    g.beginPath();
    for (const seat of seats) {
      g.moveTo(x(seat) + radius * 0.8, y(seat));
      g.arc(x(seat), y(seat), radius * 0.8, 0, 2 * Math.PI);
    }
    g.stroke();
  }
  const arm = radius * 0.45;
  for (const [colour, seats] of groups[SOLD]!) {
    g.strokeStyle = colour;
    g.lineWidth = thin;
    g.beginPath();
    for (const seat of seats) {
      const [sx, sy] = [x(seat), y(seat)];
      g.moveTo(sx - arm, sy - arm);
      g.lineTo(sx + arm, sy + arm);
      g.moveTo(sx + arm, sy - arm);
      g.lineTo(sx - arm, sy + arm);
    }
    g.stroke();
  }
  for (const [colour, seats] of groups[BLOCKED]!) {
    g.strokeStyle = colour;
    g.lineWidth = thin * 1.4;
    g.beginPath();
    for (const seat of seats) {
      g.moveTo(x(seat), y(seat) - arm);
      g.lineTo(x(seat), y(seat) + arm);
    }
    g.stroke();
  }
}

/** Numbers stand in free seats only: the others cannot be had. */
function paintNumbers(
  g: CanvasRenderingContext2D,
  house: House,
  paint: Paint,
  groups: Groups[],
  px: number,
  x: Along,
  y: Along,
): void {
  g.font = `600 ${Math.round(px * 0.36)}px ${FONT}`;
  g.textAlign = "center";
  g.textBaseline = "middle";
  for (const [colour, seats] of groups[FREE]!) {
    const isOwn = paint.colourOf !== undefined && !paint.fills.includes(colour);
    g.fillStyle = isOwn ? inkOn(rgbOf(colour)) : paint.inks[paint.fills.indexOf(colour)]!;
    for (const seat of seats) g.fillText(house.numbers[seat]!, x(seat), y(seat) + px * 0.02, px * 0.72);
  }
}

/** A chosen seat: a square with a tick, larger than any other. */
export function paintChosen(
  g: CanvasRenderingContext2D,
  paint: Paint,
  x: number,
  y: number,
  px: number,
): void {
  const side = Math.max(9, px * 0.88);
  const { accent, onAccent, paper } = paint.palette;
  rounded(g, x, y, side + 4, css(paper));
  rounded(g, x, y, side, css(accent));
  g.strokeStyle = css(onAccent);
  g.lineWidth = Math.max(1.5, side * 0.11);
  g.lineCap = "round";
  g.lineJoin = "round";
  g.beginPath();
  g.moveTo(x - side * 0.22, y + side * 0.02);
  g.lineTo(x - side * 0.06, y + side * 0.19);
  g.lineTo(x + side * 0.24, y - side * 0.18);
  g.stroke();
}

function rounded(g: CanvasRenderingContext2D, x: number, y: number, side: number, colour: string): void {
  g.fillStyle = colour;
  g.beginPath();
  g.roundRect(x - side / 2, y - side / 2, side, side, side * 0.24);
  g.fill();
}

/** A ring around a seat that is pointed at, or a broken one around a seat that is offered. */
export function paintRing(
  g: CanvasRenderingContext2D,
  colour: Rgb,
  x: number,
  y: number,
  px: number,
  isBroken = false,
): void {
  const radius = Math.max(7, px * 0.52);
  g.strokeStyle = css(colour);
  g.lineWidth = Math.max(2, px * 0.08);
  g.setLineDash(isBroken ? [radius * 0.5, radius * 0.35] : []);
  g.beginPath();
  g.arc(x, y, radius, 0, 2 * Math.PI);
  g.stroke();
  g.setLineDash([]);
}

/** Lines, and how wide they are in letters of one pixel: measuring is slow, so it is done once. */
export type SectionText = readonly {
  line: string;
  widthEm: number;
  shortened?: { line: string; widthEm: number };
}[];

const MEASURED_PX = 20;

export function textOf(g: CanvasRenderingContext2D, lines: readonly string[]): SectionText {
  const measured = (line: string, at: number) => {
    g.font = `${weightOf(at)} ${MEASURED_PX}px ${FONT}`;
    return { line, widthEm: g.measureText(line).width / MEASURED_PX };
  };
  return lines.map((line, at) => {
    // Of "Section 101" the last word tells most.
    const word = at === 0 ? line.split(" ").at(-1)! : line;
    return word === line ? measured(line, at) : { ...measured(line, at), shortened: measured(word, at) };
  });
}

const weightOf = (at: number) => (at === 0 ? 700 : 500);

/**
 * A section seen from afar: its outline, the fuller of colour the more is free, with these lines in
 * it as far as they fit.
 */
export function paintSection(
  g: CanvasRenderingContext2D,
  house: House,
  paint: Paint,
  index: number,
  lines: SectionText,
  view: { left: number; top: number; scale: number },
  isPointedAt: boolean,
): void {
  const section = house.sections[index]!;
  const share = section.count === 0 ? 0 : house.freeIn(index) / section.count;
  const { paper, accent, ink, muted, line } = paint.palette;
  const fill = share === 0 ? mixed(paper, muted, 0.12) : mixed(paper, accent, 0.14 + 0.36 * share);
  const { hull } = section;
  g.beginPath();
  for (let at = 0; at < hull.length; at += 2) {
    g.lineTo((hull[at]! - view.left) * view.scale, (hull[at + 1]! - view.top) * view.scale);
  }
  g.closePath();
  g.fillStyle = css(fill);
  g.fill();
  g.lineWidth = isPointedAt ? 3 : 1.5;
  g.strokeStyle = css(isPointedAt ? ink : share === 0 ? line : accent);
  // What is sold out has a broken outline: the shade alone would not tell.
  g.setLineDash(share === 0 ? [4, 4] : []);
  g.stroke();
  g.setLineDash([]);
  const width = widthAt(hull, section.x, section.y) * view.scale - 4;
  const height = (section.box.bottom - section.box.top + house.pitch) * view.scale;
  const size = Math.max(10, Math.min(15, width / 7));
  const linePx = (at: number) => Math.round(at === 0 ? size : size * 0.88);
  const most = Math.max(1, Math.floor(height / (size * 1.3)));
  // What is too wide is left out before the rest is put in the middle.
  const fitting = lines
    .map((whole, at) => ({ whole, px: linePx(at), weight: weightOf(at) }))
    .filter(({ whole, px }) => (whole.shortened ?? whole).widthEm * px <= width)
    .slice(0, most);
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillStyle = css(ink);
  const x = (section.x - view.left) * view.scale;
  let y = (section.y - view.top) * view.scale - ((fitting.length - 1) / 2) * size * 1.25;
  for (const { whole, px, weight } of fitting) {
    // Outlines are not as wide everywhere: upper and lower edges of the letters count.
    const edges = [y - px / 2, y + px / 2].map((edge) => edge / view.scale + view.top);
    const fit = Math.min(...edges.map((edge) => widthAt(hull, section.x, edge))) * view.scale - 4;
    const shown = [whole, whole.shortened].find((text) => text && text.widthEm * px <= fit);
    if (shown) {
      g.font = `${weight} ${px}px ${FONT}`;
      g.fillText(shown.line, x, y);
    }
    y += size * 1.25;
  }
}
