/** What is drawn beside the seats: the stage, bars, exits, and words. */
import { type Area, areasOf, KEY, mapAreas, newKey, type Plan, round, without, type Zone } from "./document";

export type Shape = "rectangle" | "ellipse" | "text";
export const SHAPES: readonly Shape[] = ["rectangle", "ellipse", "text"];

/** What can be said of an area in one form, whatever its shape. */
export interface AreaFacts {
  shape: string;
  words: string;
  x: number;
  y: number;
  /** Of what has them: a rectangle, a circle, an ellipse. */
  width: number | undefined;
  height: number | undefined;
  rotation: number;
  color: string;
  wordsColor: string;
  wordsSize: number;
}

/** Adds one around this point; what belongs to no section is in a zone without seats. */
export function addArea(
  plan: Plan,
  wish: { shape: Shape; words: string; x: number; y: number; width: number; height: number },
): { plan: Plan; key: number } {
  const key = newKey();
  const { shape, words, width, height } = wish;
  const isBox = shape === "rectangle";
  const said = words.trim() === "" ? undefined : words;
  const at = plan.zones.findIndex((zone) => (zone.rows ?? []).length === 0 && (zone.areas ?? []).length > 0);
  const zone: Zone = plan.zones[at] ?? {
    [KEY]: newKey(),
    name: "",
    ...{ zone_id: `zone-${plan.zones.length + 1}` },
    position: { x: 0, y: 0 },
    rows: [],
    areas: [],
  };
  const x = wish.x - (zone.position?.x ?? 0) - (isBox ? width / 2 : 0);
  const y = wish.y - (zone.position?.y ?? 0) - (isBox ? height / 2 : 0);
  const area: Area = {
    [KEY]: key,
    shape,
    position: { x: round(x), y: round(y) },
    rotation: 0,
    ...(shape !== "text" && { color: "#4a4f5e" }),
    ...(isBox && { rectangle: { width, height } }),
    ...(shape === "ellipse" && { ellipse: { radius: { x: width / 2, y: height / 2 } } }),
    ...(said !== undefined && {
      text: {
        text: said,
        position: isBox ? { x: width / 2, y: height / 2 } : { x: 0, y: 0 },
        color: shape === "text" ? "#767b8c" : "#ffffff",
        size: 24,
      },
    }),
  };
  const filled = { ...zone, areas: [...(zone.areas ?? []), area] };
  const zones = at < 0 ? [...plan.zones, filled] : plan.zones.map((it, nth) => (nth === at ? filled : it));
  return { plan: { ...plan, zones }, key };
}

export function factsOf(plan: Plan, key: number): AreaFacts | undefined {
  const found = areasOf(plan).find((place) => place.key === key);
  if (!found) return undefined;
  const { area, x, y } = found;
  const radius = area.ellipse?.radius;
  return {
    shape: area.shape,
    words: area.text?.text ?? "",
    x,
    y,
    width:
      area.rectangle?.width ?? (radius ? radius.x * 2 : area.circle ? area.circle.radius * 2 : undefined),
    height: area.rectangle?.height ?? (radius ? radius.y * 2 : undefined),
    rotation: area.rotation ?? 0,
    color: area.color ?? "",
    wordsColor: area.text?.color ?? "",
    wordsSize: area.text?.size ?? 24,
  };
}

/** Changes what is said here, and leaves the rest of the area alone. */
export function changeArea(plan: Plan, key: number, change: Partial<Omit<AreaFacts, "shape">>): Plan {
  const facts = factsOf(plan, key);
  if (!facts) return plan;
  const wanted = { ...facts, ...change };
  const isSame = Object.entries(wanted).every(([name, value]) => facts[name as keyof AreaFacts] === value);
  if (isSame) return plan;
  return mapAreas(plan, new Set([key]), (area) => {
    const changed: Area = { ...area };
    changed.position = {
      x: round((area.position?.x ?? 0) + wanted.x - facts.x),
      y: round((area.position?.y ?? 0) + wanted.y - facts.y),
    };
    if (wanted.rotation !== facts.rotation) changed.rotation = wanted.rotation;
    if (wanted.color !== facts.color) changed.color = wanted.color;
    const [width, height] = [wanted.width ?? 0, wanted.height ?? 0];
    if (area.rectangle) changed.rectangle = { ...area.rectangle, width, height };
    if (area.circle) changed.circle = { ...area.circle, radius: width / 2 };
    if (area.ellipse) changed.ellipse = { ...area.ellipse, radius: { x: width / 2, y: height / 2 } };
    const words = wordsOf(area, wanted, facts);
    return words ? { ...changed, text: words } : without(changed, "text");
  });
}

function wordsOf(area: Area, wanted: AreaFacts, facts: AreaFacts): Area["text"] {
  if (wanted.words.trim() === "") return undefined;
  const before = area.text ?? { position: { x: 0, y: 0 }, color: "#ffffff" };
  const at = before.position ?? { x: 0, y: 0 };
  // Words in the middle of a rectangle stay there.
  const isMiddle = area.rectangle && (!area.text || isHalf(at, area.rectangle));
  return {
    ...before,
    text: wanted.words,
    ...(isMiddle && { position: { x: (wanted.width ?? 0) / 2, y: (wanted.height ?? 0) / 2 } }),
    ...(wanted.wordsColor !== facts.wordsColor && { color: wanted.wordsColor }),
    ...((wanted.wordsSize !== facts.wordsSize || !area.text) && { size: wanted.wordsSize }),
  };
}

function isHalf(at: { x: number; y: number }, size: { width: number; height: number }): boolean {
  return Math.abs(at.x - size.width / 2) < 0.01 && Math.abs(at.y - size.height / 2) < 0.01;
}
