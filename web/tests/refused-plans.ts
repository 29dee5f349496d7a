/** Plans that the server refuses, each with what the editor finds wrong with it; and some that it takes. */
import type { Finding } from "../src/admin/plan/model/check";

type Json = Record<string, unknown>;

export interface Refused {
  what: string;
  /** The file of the plan. */
  plan: Json;
  finding: Finding;
  /** What the server says, in part. */
  why: string;
}

const seat = (more: Json = {}) => ({ seat_guid: "A-1", seat_number: "1", category: "One", ...more });

const BESIDE = { seat_guid: "A-2", seat_number: "2", position: { x: 20, y: 0 } };

/** A plan of two seats in one row, with something else in its place. */
function house(wish: { seat?: Json; row?: Json; zone?: Json; category?: Json; plan?: Json } = {}): Json {
  const seats = [{ ...seat(), ...wish.seat }, seat(BESIDE)];
  const row = { row_number: "A", seats, ...wish.row };
  return {
    name: "House",
    size: { width: 100, height: 100 },
    categories: [{ name: "One", color: "#36c", ...wish.category }],
    zones: [{ name: "Stalls", rows: [row], ...wish.zone }],
    ...wish.plan,
  };
}

const area = (more: Json) => house({ zone: { areas: [more] } });
const words = (more: Json) => area({ shape: "text", text: { text: "Bar", ...more } });
const unused = (more: Json) => house({ plan: { categories: [{ name: "One" }, { name: "Two", ...more }] } });
const aside = (more: Json) => {
  const plan = house();
  return { ...plan, zones: [...(plan.zones as Json[]), more] };
};

const LONG = "x".repeat(501);
const TURNS = "turn the text around";
const FAR = "too far out";
const POINTS = Array.from({ length: 501 }, () => ({ x: 1, y: 1 }));
const circle = (radius: number) => ({ shape: "circle", circle: { radius } });

export const REFUSED: readonly Refused[] = (
  [
    ["no seat", house({ row: { seats: [] } }), "no_seats", "seats; use 1 to"],
    ["an id with a space", house({ seat: { seat_guid: "A 1" } }), "bad_id", "A 1"],
    ["an id twice", house({ seat: { seat_guid: "A-2" } }), "same_id", "in the plan twice"],
    [
      "another category",
      house({ seat: { category: "?" } }),
      "no_category",
      "not among the plan's categories",
    ],
    [
      "too many categories",
      house({
        plan: { categories: Array.from({ length: 1_001 }, (_, nth) => ({ name: nth ? `C${nth}` : "One" })) },
      }),
      "too_many_categories",
      "categories; use at most",
    ],
    ["a companion of nobody", house({ seat: { companion_of: "A-2" } }), "no_place", "companion_of"],
    ["a companion of an empty id", house({ seat: { companion_of: "" } }), "no_place", "companion_of"],
    [
      "a wheelchair place and a companion's seat",
      house({
        row: {
          seats: [seat({ wheelchair: true }), seat({ ...BESIDE, wheelchair: true, companion_of: "A-1" })],
        },
      }),
      "two_marks",
      "use one of wheelchair and companion_of",
    ],
    ["a rank that is too large", house({ seat: { rank: 1_000_001 } }), "bad_rank", "rank"],
    ["a rank below 0", house({ seat: { rank: -1 } }), "bad_rank", "whole number in its range"],
    ["a seat far away", house({ seat: { position: { x: 1e7, y: 0 } } }), "too_far", FAR],
    ["a row far away", house({ row: { position: { x: 0, y: -1e7 } } }), "too_far", FAR],
    ["a section far away", house({ zone: { position: { x: 0, y: -1e7 } } }), "too_far", FAR],
    ["a plan that is too wide", house({ plan: { size: { width: 1e7, height: 1 } } }), "too_far", FAR],
    ["a plan's long name", house({ plan: { name: LONG } }), "too_long", "is too long"],
    ["a section's long name", house({ zone: { name: LONG } }), "too_long", "is too long"],
    ["a long name of a section without seats", aside({ name: LONG }), "too_long", "is too long"],
    ["a row's long name", house({ row: { row_number: LONG } }), "too_long", "is too long"],
    ["a seat's long number", house({ seat: { seat_number: LONG } }), "too_long", "is too long"],
    ["a long name of a category without seats", unused({ name: LONG }), "too_long", "is too long"],
    ["a plan's turned name", house({ plan: { name: "a\u202eb" } }), "turned_text", TURNS],
    ["a section's turned name", house({ zone: { name: "a\u2066b" } }), "turned_text", TURNS],
    ["a turned name of a section without seats", aside({ name: "a\u200fb" }), "turned_text", TURNS],
    ["a row's turned name", house({ row: { row_number: "\u061c1" } }), "turned_text", TURNS],
    ["a seat's turned number", house({ seat: { seat_number: "\u200e1" } }), "turned_text", TURNS],
    ["a turned name of a category without seats", unused({ name: "\u202b" }), "turned_text", TURNS],
    ["half a sign in a name", house({ zone: { name: "a\ud83d" } }), "turned_text", "hex escape"],
    ["an odd colour", house({ category: { color: "url(x)" } }), "bad_colour", "no colour"],
    ["an odd colour of a category without seats", unused({ color: "#12345" }), "bad_colour", "no colour"],
    ["a row's number of 33 bits", house({ row: { row_number: 2 ** 31 } }), "bad_number", "row_number"],
    [
      "a seat's number of 33 bits",
      house({ seat: { seat_number: -(2 ** 31) - 1 } }),
      "bad_number",
      "seat_number",
    ],
    ["an area far away", area({ ...circle(1), position: { x: 0, y: 1e7 } }), "bad_area", FAR],
    ["an area turned too far", area({ ...circle(1), rotation: 1e7 }), "bad_area", FAR],
    ["an area too wide", area({ shape: "rectangle", rectangle: { width: 1e7, height: 1 } }), "bad_area", FAR],
    ["an area of an odd colour", area({ ...circle(1), color: "red;" }), "bad_area", "no colour"],
    ["an edge of an odd colour", area({ ...circle(1), border_color: "#12" }), "bad_area", "no colour"],
    ["a radius below 0", area(circle(-1)), "bad_area", "no radius"],
    [
      "a polygon of many corners",
      area({ shape: "polygon", polygon: { points: POINTS } }),
      "bad_area",
      "points; use at most",
    ],
    ["turned words", words({ text: "a\u061cb" }), "bad_area", TURNS],
    ["long words", words({ text: LONG }), "bad_area", "is too long"],
    ["words with signs that do not show", words({ text: "a\u0007b" }), "bad_area", "do not show"],
    ["words of odd letters", words({ size: -1 }), "bad_area", "size: use 0"],
    ["words of an odd colour", words({ color: "#12" }), "bad_area", "no colour"],
    [
      "too many areas",
      house({ zone: { areas: Array.from({ length: 1_001 }, () => circle(1)) } }),
      "too_many_areas",
      "areas; use fewer",
    ],
    ["too many bytes", house({ plan: { note: "ä".repeat(16 << 20) } }), "too_many_bytes", ""],
  ] as const
).map(([what, plan, finding, why]) => ({ what, plan, finding, why }));

export const TAKEN: readonly (readonly [string, Json])[] = [
  ["nothing odd", house()],
  ["one name twice", house({ seat: { seat_number: "2" } })],
  ["numbers of 32 bits", house({ row: { row_number: 2 ** 31 - 1 }, seat: { seat_number: -(2 ** 31) } })],
  ["500 signs of two halves each", house({ zone: { name: "😀".repeat(500) } })],
  ["a category without a colour", unused({ color: "" })],
  ["a section without seats, far away", aside({ name: "Aside", position: { x: 1e7, y: 0 } })],
  ["a shape that nobody knows", area({ shape: "spiral", color: "url(x)", circle: { radius: -1 } })],
  ["words that say nothing", words({ text: "\u0085 ", size: -1, color: "#12" })],
  ["measures of another shape", area({ ...circle(1), polygon: { points: POINTS } })],
  [
    "as many shapes that nobody knows as you like",
    house({ zone: { areas: Array.from({ length: 1_001 }, () => ({ shape: "spiral" })) } }),
  ],
];
