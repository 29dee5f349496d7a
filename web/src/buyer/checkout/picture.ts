/** A ticket as one picture: what stands on it, and its QR code. */
import type { Code } from "./code";

export interface TicketText {
  title: string;
  /** Lines below the title: when, where, which seat, whose. */
  lines: string[];
  /** Small print at the foot. */
  foot: string;
}

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 640;
const MARGIN = 40;
const CODE = 480;
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";

/** Draws a ticket. */
export function ticketSvg(ticket: TicketText, code: Code): string {
  const picture = document.implementation.createDocument(SVG, "svg");
  const root = picture.documentElement;
  const add = (name: string, attributes: Record<string, string | number>, text?: string) => {
    const element = picture.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
    if (text !== undefined) element.textContent = text;
    root.append(element);
    return element;
  };
  const paper = add("rect", { width: WIDTH, fill: "#ffffff" });
  let y = MARGIN;
  const write = (text: string, size: number, weight: number, fill: string) => {
    for (const line of wrapped(text, WIDTH - 2 * MARGIN, `${weight} ${size}px ${FONT}`)) {
      y += size * 1.3;
      const at = { x: MARGIN, y: Math.round(y) };
      add("text", { ...at, fill, "font-family": FONT, "font-size": size, "font-weight": weight }, line);
    }
  };
  write(ticket.title, 34, 700, "#111111");
  y += 8;
  for (const line of ticket.lines) write(line, 22, 400, "#111111");
  y += 28;
  const place = `translate(${(WIDTH - CODE) / 2} ${Math.round(y)}) scale(${CODE / code.side})`;
  add("path", { stroke: "#000000", "shape-rendering": "crispEdges", transform: place, d: code.lines });
  y += CODE + 4;
  write(ticket.foot, 18, 400, "#444444");
  const height = Math.round(y + MARGIN);
  paper.setAttribute("height", String(height));
  root.setAttribute("width", String(WIDTH));
  root.setAttribute("height", String(height));
  root.setAttribute("viewBox", `0 0 ${WIDTH} ${height}`);
  return new XMLSerializer().serializeToString(picture);
}

/**
 * A text in lines that fit. Languages without spaces are broken where a word ends, and a word that no
 * line is wide enough for where a character does.
 */
function wrapped(text: string, width: number, font: string): string[] {
  const context = document.createElement("canvas").getContext("2d")!;
  context.font = font;
  const fits = (text: string) => context.measureText(text).width <= width;
  const lines: string[] = [];
  let line = "";
  for (const word of parts(text, "word")) {
    for (const part of fits(word) ? [word] : parts(word, "grapheme")) {
      if (line !== "" && !fits(line + part)) {
        lines.push(line.trim());
        line = "";
      }
      line += part;
    }
  }
  return [...lines, line.trim()].filter((there) => there !== "");
}

/**
 * The words of a text and what is between them, or its characters. Firefox knows either since 125; before,
 * words end at blanks, and characters are letters with their marks.
 */
function parts(text: string, granularity: "word" | "grapheme"): string[] {
  if ("Segmenter" in Intl) {
    const segments = new Intl.Segmenter(undefined, { granularity }).segment(text);
    return Array.from(segments, ({ segment }) => segment);
  }
  return text.match(granularity === "word" ? /\s+|\S+/gu : /.\p{M}*/gsu) ?? [];
}

/** The same picture in pixels, twice as fine. */
export async function pngOf(svg: string): Promise<Blob> {
  const url = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = url;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth * 2;
    canvas.height = image.naturalHeight * 2;
    canvas.getContext("2d")!.drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(url);
  }
}
