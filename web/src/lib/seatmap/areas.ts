/** What a plan draws beside its seats: the stage, bars, exits, and words. */
import type { MapArea } from "../../api/schema";
import { FONT } from "./paint";

/** Words smaller than this on the screen are left out: nobody could read them. */
const LEAST_PX = 7;

/** Draws areas at `scale`, with the plan's `left` and `top` in the corner. */
export function paintAreas(
  g: CanvasRenderingContext2D,
  areas: readonly MapArea[],
  { left, top, scale }: { left: number; top: number; scale: number },
  muted: readonly number[],
): void {
  for (const area of areas) {
    g.save();
    g.translate((area.x - left) * scale, (area.y - top) * scale);
    g.rotate(((area.rotation ?? 0) * Math.PI) / 180);
    if (area.outline) {
      trace(g, area.outline, scale);
      if (area.color !== undefined) {
        g.fillStyle = area.color;
        g.fill();
      }
      if (area.border_color !== undefined) {
        g.strokeStyle = area.border_color;
        g.lineWidth = 1;
        g.stroke();
      }
    }
    if (area.text) {
      const px = (area.text.size ?? 16) * scale;
      if (px >= LEAST_PX) {
        g.font = `600 ${px}px ${FONT}`;
        g.textAlign = "center";
        g.textBaseline = "middle";
        g.fillStyle = area.text.color ?? `rgb(${muted.join(",")})`;
        g.fillText(area.text.text, area.text.x * scale, area.text.y * scale);
      }
    }
    g.restore();
  }
}

function trace(g: CanvasRenderingContext2D, outline: NonNullable<MapArea["outline"]>, scale: number): void {
  g.beginPath();
  if ("rectangle" in outline) {
    const [width = 0, height = 0] = outline.rectangle;
    g.rect(0, 0, width * scale, height * scale);
  } else if ("ellipse" in outline) {
    const [rx = 0, ry = 0] = outline.ellipse;
    g.ellipse(0, 0, rx * scale, ry * scale, 0, 0, 2 * Math.PI);
  } else {
    for (const [nth, [x = 0, y = 0]] of outline.polygon.entries()) {
      if (nth === 0) g.moveTo(x * scale, y * scale);
      else g.lineTo(x * scale, y * scale);
    }
    g.closePath();
  }
}

/** All words of a plan, for those who cannot see them. */
export function wordsOf(areas: readonly MapArea[]): string[] {
  return [...new Set(areas.flatMap(({ text }) => (text ? [text.text.trim()] : [])))];
}
