/**
 * Recomputes a draw from what was published, as docs/design/waiting-room.md says; it asks the
 * server nothing.
 */
import { sha256 } from "@noble/hashes/sha2.js";

export interface Published {
  seed: string;
  publicValue?: string;
  /** The places that take part, 32 hexadecimal digits and a newline each, in the order taken. */
  list: string;
}

export interface Drawn {
  seedHash: string;
  listHash: string;
  /** The places in the order drawn: the first is served first. */
  order: Lot[];
}

export interface Lot {
  place: string;
  /** 52 bits: a number exactly. */
  lot: number;
  /** Where it stands in the list, from 1. */
  joined: number;
}

const encoder = new TextEncoder();

export function drawAgain({ seed, publicValue, list }: Published): Drawn {
  const seedBytes = bytesOf(seed);
  const key = publicValue === undefined ? seedBytes : sha256(joined(seedBytes, encoder.encode(publicValue)));
  const places = list.split("\n").slice(0, -1);
  const text = new Uint8Array(key.length + 32);
  text.set(key);
  const order = places.map((place, index): Lot => {
    encoder.encodeInto(place, text.subarray(key.length));
    return { place, lot: first52Bits(sha256(text)), joined: index + 1 };
  });
  // Equal lots go by the place's id.
  order.sort((a, b) => a.lot - b.lot || (a.place < b.place ? -1 : 1));
  return { seedHash: hex(sha256(seedBytes)), listHash: hex(sha256(encoder.encode(list))), order };
}

function first52Bits(digest: Uint8Array): number {
  const view = new DataView(digest.buffer, digest.byteOffset, digest.byteLength);
  return view.getUint32(0) * 2 ** 20 + (view.getUint32(4) >>> 12);
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function bytesOf(digits: string): Uint8Array {
  return Uint8Array.from(digits.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function hex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The order as a table for spreadsheets. */
export function csvOf(order: Lot[]): string {
  const rows = order.map(({ place, lot, joined }, index) => `${index + 1},${place},${lot},${joined}`);
  return ["rank,place,lot,joined", ...rows, ""].join("\r\n");
}
