/** The plan editor's model: pure, so no browser and no server here. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { addArea, changeArea, factsOf } from "../../src/admin/plan/model/areas";
import {
  addAisle,
  aislesOf,
  fitSize,
  moveBy,
  remove,
  removeAisles,
  rotate,
} from "../../src/admin/plan/model/arrange";
import { ranksOf } from "../../src/admin/plan/model/best";
import { addBlock, sizeOf, wrongWith } from "../../src/admin/plan/model/build";
import {
  addCategory,
  colourCategory,
  raiseCategory,
  removeCategory,
  renameCategory,
} from "../../src/admin/plan/model/categories";
import { check, type Finding, obstacle } from "../../src/admin/plan/model/check";
import { emptyPlan, type Plan, placesOf, textOf } from "../../src/admin/plan/model/document";
import { NotAPlan, planOf, readPlan, writePlan } from "../../src/admin/plan/model/file";
import { begin, MAX_STEPS, redo, step, undo } from "../../src/admin/plan/model/history";
import { joinNearest, setCategory, setRank, setTrait, widened } from "../../src/admin/plan/model/mark";
import { letters, names, numberRows, numberSeats, type Scheme } from "../../src/admin/plan/model/number";
import { orderOf } from "../../src/admin/plan/model/order";
import { copyMirrored, moveToSection, renameSection } from "../../src/admin/plan/model/sections";
import { BLOCK, chance, chosen, hall } from "./plans";

const EXAMPLES = ["theatre.json", "arena.json"];
const SCHEME: Scheme = { style: "numbers", start: 1, which: "all", from: "left", skipsIO: false };

function example(name: string): string {
  return readFileSync(path.resolve(import.meta.dirname, "../../../examples", name), "utf8");
}

/** The plan's file, as a value. */
function written(plan: Plan): unknown {
  return JSON.parse(writePlan(plan));
}

function ids(plan: Plan): string[] {
  return placesOf(plan).map(({ seat }) => seat.seat_guid);
}

function findings(plan: Plan): Finding[] {
  return check(plan).map(({ finding }) => finding);
}

describe("files", () => {
  test.each(EXAMPLES)("%s is the same after it was read and written", (file) => {
    const text = example(file);
    expect(written(readPlan(text))).toEqual(JSON.parse(text));
  });

  test("what we do not know is carried along, also where something was changed", () => {
    const file = written(hall().plan) as { zones: { rows: { seats: Record<string, unknown>[] }[] }[] };
    const seat = file.zones[0]!.rows[0]!.seats[0]!;
    seat["start_price"] = { EUR: 5 };
    Object.assign(file, { layer: [1, null, "x"] });
    const plan = planOf(file);
    const changed = setRank(
      moveBy(
        plan,
        chosen(plan, () => true),
        1,
        0,
      ),
      chosen(plan, () => true),
      4,
    );
    const after = written(changed) as typeof file & { layer: unknown };
    expect(after.zones[0]!.rows[0]!.seats[0]!["start_price"]).toEqual({ EUR: 5 });
    expect(after.layer).toEqual([1, null, "x"]);
  });

  test.each([
    ["{", "JSON"],
    ["[]", "{}"],
    [`{"size": {"width": 1, "height": 1}, "categories": []}`, "zones"],
    [`{"size": {"width": 1}, "categories": [], "zones": []}`, "size"],
    [`{"size": {"width": 1, "height": 1}, "categories": [{}], "zones": []}`, "categories[0].name"],
    [
      `{"size": {"width": 1, "height": 1}, "categories": [], "zones": [{"rows": [{"seats": [{}]}]}]}`,
      "zones[0].rows[0].seats[0].seat_guid",
    ],
    [
      `{"size": {"width": 1, "height": 1}, "categories": [], "zones": [{"areas": [{"shape": "circle"}]}]}`,
      "zones[0].areas[0].circle",
    ],
  ])("%s is no plan, and it is said where", (text, where) => {
    expect(() => readPlan(text)).toThrow(NotAPlan);
    try {
      readPlan(text);
    } catch (error) {
      expect((error as NotAPlan).where).toBe(where);
    }
  });
});

describe("blocks of rows", () => {
  test("a straight block stands in lines, numbered from the left, lettered from the front", () => {
    const { plan, keys } = hall();
    expect(keys.size).toBe(30);
    const [first] = placesOf(plan);
    expect([first!.x, first!.y]).toEqual([387.5, 100]);
    expect(ids(plan)[0]).toBe("Stalls-A-1");
    expect(ids(plan).at(-1)).toBe("Stalls-C-10");
    expect(findings(plan)).toEqual([]);
  });

  test("curved rows are on circles, their seats equally far apart, and each row may grow", () => {
    const { plan } = hall({ shape: "curved", y: 50, growth: 2, angle: 20 });
    const middle = { x: 500, y: 50 };
    for (const [nth, row] of plan.zones[0]!.rows!.entries()) {
      const places = placesOf(plan).filter((place) => place.row === row);
      expect(places).toHaveLength(10 + 2 * nth);
      for (const { x, y } of places) {
        expect(Math.hypot(x - middle.x, y - middle.y)).toBeCloseTo(200 + 30 * nth, 1);
      }
      expect(orderOf(places).usual[0]).toBeCloseTo(25, 0);
      expect(places[0]!.x).toBeLessThan(places.at(-1)!.x);
    }
    expect(sizeOf({ ...BLOCK, growth: 2 })).toBe(36);
  });

  test("more rows of a section go on with its letters", () => {
    const { plan } = hall();
    const { plan: more } = addBlock(plan, { ...BLOCK, y: 300 });
    expect(more.zones).toHaveLength(1);
    expect(more.zones[0]!.rows!.map((row) => row.row_number)).toEqual(["A", "B", "C", "D", "E", "F"]);
    expect(new Set(ids(more)).size).toBe(60);
  });

  test.each([
    [{ rows: 0 }, "block_numbers"],
    [{ rows: 2.5 }, "block_numbers"],
    [{ seatGap: 0 }, "block_numbers"],
    [{ shape: "curved" as const, radius: -1 }, "block_numbers"],
    [{ x: NaN }, "block_numbers"],
    [{ rows: 500, seats: 501 }, "block_too_large"],
    [{}, undefined],
  ])("%o is %s", (wish, wrong) => {
    expect(wrongWith(emptyPlan("Hall", "One"), { ...BLOCK, ...wish })).toBe(wrong);
  });
});

describe("names", () => {
  test("letters go on after Z, and may leave out I and O", () => {
    expect([1, 26, 27, 52, 703].map((nth) => letters(nth))).toEqual(["A", "Z", "AA", "AZ", "AAA"]);
    const rows = names({ ...SCHEME, style: "letters", skipsIO: true, start: 8 }, 8);
    expect(rows).toEqual(["H", "J", "K", "L", "M", "N", "P", "Q"]);
  });

  test.each([
    [{}, ["1", "2", "3", "4", "5"]],
    [{ start: 11, from: "right" as const }, ["15", "14", "13", "12", "11"]],
    [{ which: "odd" as const }, ["1", "3", "5", "7", "9"]],
    [{ which: "even" as const }, ["2", "4", "6", "8", "10"]],
    [{ from: "middle" as const }, ["5", "3", "1", "2", "4"]],
    [{ style: "letters" as const, start: 3 }, ["C", "D", "E", "F", "G"]],
  ])("%o numbers a row of five as %j", (scheme, wanted) => {
    const { plan, keys } = hall({ rows: 1, seats: 5 });
    const numbered = numberSeats(plan, keys, { ...SCHEME, ...scheme });
    expect(placesOf(numbered).map(({ seat }) => seat.seat_number)).toEqual(wanted);
    expect(ids(numbered)).toEqual(wanted.map((number) => `Stalls-A-${number}`));
  });

  test("rows are named from the back as well, and each section's by itself", () => {
    const { plan, keys } = hall();
    const both = addBlock(plan, { ...BLOCK, section: "Circle", y: 400 });
    const all = new Set([...keys, ...both.keys]);
    const named = numberRows(both.plan, all, { ...SCHEME, from: "back" });
    expect(named.zones.map((zone) => zone.rows!.map((row) => row.row_number))).toEqual([
      ["3", "2", "1"],
      ["3", "2", "1"],
    ]);
    expect(new Set(ids(named)).size).toBe(60);
  });

  test("numbering leaves no id twice and no companion alone, whatever is chosen", () => {
    const random = chance(7);
    for (let round = 0; round < 60; round += 1) {
      const { plan } = hall({ rows: 4, seats: 6 });
      const place = chosen(plan, ({ seat }) => seat.seat_guid === "Stalls-B-3");
      let marked = setTrait(plan, place, "wheelchair", true);
      marked = joinNearest(
        marked,
        chosen(marked, ({ seat }) => seat.seat_guid === "Stalls-B-4"),
      );
      const some = chosen(marked, () => random() < 0.6);
      const from = (["left", "right", "middle"] as const)[Math.floor(random() * 3)]!;
      const scheme = { ...SCHEME, start: Math.floor(random() * 9), from };
      const numbered = numberSeats(marked, some, scheme);
      const renamed = numberRows(numbered, some, { ...SCHEME, style: "letters", start: 3, from: "front" });
      expect(new Set(ids(renamed)).size).toBe(24);
      expect(findings(renamed)).not.toContain("no_place");
      const companion = placesOf(renamed).find(({ seat }) => seat.companion_of)!;
      const wheelchair = placesOf(renamed).find(({ seat }) => seat.wheelchair)!;
      expect(companion.seat.companion_of).toBe(wheelchair.seat.seat_guid);
    }
  });

  test("a section in other letters has ids all the same", () => {
    const { plan } = hall({ section: "ที่นั่งชั้นล่าง" });
    expect(ids(plan)[0]).toBe("S1-A-1");
    expect(ids(hall({ section: "Parkett Süd" }).plan)[0]).toBe("Parkett-Sud-A-1");
    expect(findings(plan)).toEqual([]);
    const renamed = renameSection(
      plan,
      plan.zones[0]![Object.getOwnPropertySymbols(plan.zones[0]!)[0]! as never],
      "X",
    );
    expect([renamed.zones[0]!.name, ids(renamed)[0]]).toEqual(["X", "S1-A-1"]);
  });
});

describe("sections", () => {
  test("seats that go over to another section stay where they are, and their ids follow", () => {
    const { plan, keys } = hall();
    const half = chosen(plan, ({ row, seat }) => row.row_number !== "A" && Number(seat.seat_number) > 5);
    const moved = moveToSection(plan, half, "Side");
    expect(moved.zones.map(({ name, rows }) => [name, rows!.map((row) => row.seats!.length)])).toEqual([
      ["Stalls", [10, 5, 5]],
      ["Side", [5, 5]],
    ]);
    const spots = (of: Plan) => new Map(placesOf(of).map(({ key, x, y }) => [key, [x, y]]));
    expect(spots(moved)).toEqual(spots(plan));
    expect(ids(moved).slice(-1)).toEqual(["Side-C-10"]);
    expect(findings(moved)).toEqual([]);
    const all = moveToSection(moved, keys, "Side");
    expect(all.zones.map(({ name }) => name)).toEqual(["Side"]);
    expect(findings(all)).toEqual(["split_row"]);
    expect(moveToSection(all, keys, "Side")).toBe(all);
  });

  test("a mirrored copy stands on the other side, and its companions belong to its own places", () => {
    const { plan } = hall({ x: 200, seats: 5 });
    const place = chosen(plan, ({ seat }) => seat.seat_guid === "Stalls-A-1");
    const marked = joinNearest(
      setTrait(plan, place, "wheelchair", true),
      chosen(plan, ({ seat }) => seat.seat_guid === "Stalls-A-2"),
    );
    const all = chosen(marked, () => true);
    const { plan: both, keys } = copyMirrored(marked, all, "Right");
    expect(keys.size).toBe(15);
    const [left, right] = [placesOf(both).slice(0, 5), placesOf(both).slice(15, 20)];
    expect(right.map(({ x }) => 1_000 - x)).toEqual(left.map(({ x }) => x).reverse());
    expect(right.map(({ seat }) => seat.seat_guid)).toEqual([5, 4, 3, 2, 1].map((nth) => `Right-A-${nth}`));
    expect(right[3]!.seat.companion_of).toBe("Right-A-1");
    expect(findings(both)).toEqual([]);
    const alone = copyMirrored(
      marked,
      chosen(marked, ({ seat }) => !seat.wheelchair),
      "Right",
    );
    expect(findings(alone.plan)).toEqual([]);
  });
});

describe("places", () => {
  const spread = (plan: Plan) => placesOf(plan).map(({ x, y }) => [x, y]);

  test("moving there and back is where it was, and leaves others alone", () => {
    const { plan } = hall();
    const some = chosen(plan, ({ row }) => row.row_number === "B");
    const moved = moveBy(plan, some, 12.5, -3);
    expect(moved.zones[0]!.rows![0]).toBe(plan.zones[0]!.rows![0]);
    expect(spread(moveBy(moved, some, -12.5, 3))).toEqual(spread(plan));
    expect(moveBy(plan, some, 0, 0)).toBe(plan);
  });

  test("turning keeps all distances, and four quarters are none", () => {
    const { plan, keys } = hall();
    let turned = plan;
    for (let quarter = 0; quarter < 4; quarter += 1) turned = rotate(turned, keys, 90);
    for (const [nth, [x, y]] of spread(turned).entries()) {
      expect(x).toBeCloseTo(placesOf(plan)[nth]!.x, 1);
      expect(y).toBeCloseTo(placesOf(plan)[nth]!.y, 1);
    }
    const { usual } = orderOf(placesOf(rotate(plan, keys, 33)).slice(0, 10));
    expect(usual[0]).toBeCloseTo(25, 1);
  });

  test.each(["straight", "curved"] as const)(
    "an aisle in %s rows is one to the server, and goes again",
    (shape) => {
      const { plan } = hall({ shape });
      expect(aislesOf(plan).size).toBe(0);
      const fourth = chosen(plan, ({ seat }) => textOf(seat.seat_number) === "4");
      const cut = addAisle(plan, fourth, 1);
      expect(aislesOf(cut)).toEqual(fourth);
      const rows = (of: Plan) => placesOf(of).slice(0, 10);
      const usual = (of: Plan) => orderOf(rows(of)).usual[0]!;
      expect(usual(cut)).toBeCloseTo(usual(plan), 1);
      if (shape === "curved") {
        for (const { x, y } of rows(cut)) expect(Math.hypot(x - 500, y - 100)).toBeCloseTo(200, 1);
      }
      const closed = removeAisles(cut, fourth);
      expect(aislesOf(closed).size).toBe(0);
      for (const [nth, [x, y]] of spread(closed).entries()) {
        expect(Math.abs(x! - placesOf(plan)[nth]!.x)).toBeLessThan(0.6);
        expect(Math.abs(y! - placesOf(plan)[nth]!.y)).toBeLessThan(0.6);
      }
      const last = chosen(plan, ({ seat }) => textOf(seat.seat_number) === "10");
      expect(addAisle(plan, last, 1)).toBe(plan);
    },
  );

  test("what is taken out takes empty rows and sections along, and frees companions", () => {
    const { plan, keys } = hall();
    const wheelchair = chosen(plan, ({ seat }) => seat.seat_guid === "Stalls-A-1");
    const joined = joinNearest(
      setTrait(plan, wheelchair, "wheelchair", true),
      chosen(plan, ({ seat }) => seat.seat_guid === "Stalls-A-2"),
    );
    const without = remove(joined, wheelchair);
    expect(placesOf(without)).toHaveLength(29);
    expect(placesOf(without).some(({ seat }) => seat.companion_of)).toBe(false);
    expect(
      remove(
        plan,
        chosen(plan, ({ row }) => row.row_number === "A"),
      ).zones[0]!.rows,
    ).toHaveLength(2);
    expect(remove(plan, keys).zones).toEqual([]);
    expect(remove(plan, new Set())).toBe(plan);
  });

  test("the size fits what is drawn, with a margin", () => {
    const { plan } = hall({ x: -400, y: -90 });
    expect(findings(plan)).toEqual(["outside"]);
    const fitted = fitSize(plan, { left: -512.5, top: -90, right: -287.5, bottom: -30 });
    expect(fitted.size).toEqual({ width: 2_086, height: 120 });
    // The stage is still as far from them.
    expect(placesOf(fitted)[0]!.x - 1_043).toBe(placesOf(plan)[0]!.x - 500);
    expect(findings(fitted)).toEqual([]);
  });
});

describe("marks", () => {
  test("a category is called, coloured, moved and taken out, its seats with it", () => {
    const { plan, keys } = hall();
    const two = addCategory(plan, "Two");
    expect(addCategory(two, "Two")).toBe(two);
    const some = chosen(two, ({ row }) => row.row_number === "C");
    const both = raiseCategory(setCategory(two, some, "Two"), "Two");
    expect(both.categories.map(({ name }) => name)).toEqual(["Two", "One"]);
    const renamed = colourCategory(renameCategory(both, "Two", "Best"), "Best", "#123456");
    expect(placesOf(renamed).filter(({ seat }) => seat.category === "Best")).toHaveLength(10);
    expect(renamed.categories[0]).toEqual({ name: "Best", color: "#123456" });
    expect(renameCategory(both, "Two", "One")).toBe(both);
    expect(removeCategory(renamed, "Best")).toBe(renamed);
    expect(removeCategory(setCategory(renamed, keys, "One"), "Best").categories).toHaveLength(1);
  });

  test("a seat is a wheelchair place or a companion's, never both", () => {
    const { plan } = hall();
    const [one, two] = [1, 2].map((nth) => chosen(plan, ({ seat }) => seat.seat_guid === `Stalls-A-${nth}`));
    let marked = setTrait(plan, one!, "wheelchair", true);
    marked = joinNearest(marked, two!);
    expect(placesOf(marked)[1]!.seat.companion_of).toBe("Stalls-A-1");
    expect(setTrait(marked, two!, "wheelchair", true).zones[0]!.rows![0]!.seats![1]).not.toHaveProperty(
      "companion_of",
    );
    const undone = setTrait(marked, one!, "wheelchair", false);
    expect(written(undone)).toEqual(written(plan));
    expect(joinNearest(plan, two!)).toBe(plan);
  });

  test("a choice grows to its rows and sections", () => {
    const { plan } = hall();
    const one = chosen(plan, ({ seat }) => seat.seat_guid === "Stalls-A-1");
    expect(widened(plan, one, "row").size).toBe(10);
    expect(widened(plan, one, "zone").size).toBe(30);
  });

  test("areas are added and changed, and keep what the form does not show", () => {
    const box = { shape: "rectangle" as const, words: "Stage", x: 500, y: 40, width: 300, height: 60 };
    const { plan, key } = addArea(emptyPlan("Hall", "One"), box);
    expect(factsOf(plan, key)).toMatchObject({ x: 350, y: 10, words: "Stage", width: 300 });
    const wider = changeArea(plan, key, { width: 400, words: "Bühne" });
    const area = wider.zones[0]!.areas![0]!;
    expect(area.text).toMatchObject({ text: "Bühne", position: { x: 200, y: 30 } });
    expect(changeArea(wider, key, { width: 400 })).toBe(wider);
    expect(changeArea(wider, key, { words: " " }).zones[0]!.areas![0]).not.toHaveProperty("text");
  });
});

describe("ranks", () => {
  test("they are what the server makes of the same drawing", () => {
    // The house of `the_category_counts_first_then_the_row_then_its_middle` in the server's tests.
    const row = (name: string, y: number, category: string) => ({
      row_number: name,
      position: { x: 0, y },
      seats: [1, 2, 3, 4, 5, 6, 7, 8, 9].map((x) => ({
        seat_guid: `${name}${x}`,
        position: { x, y: 0 },
        category,
      })),
    });
    const plan = planOf({
      size: { width: 10, height: 50 },
      categories: [{ name: "Best" }, { name: "Other" }],
      zones: [{ rows: [row("A", 1, "Other"), row("B", 9, "Best"), row("C", 3, "Best")] }],
    });
    const ranks = [...ranksOf(plan).values()];
    expect(ranks.slice(18)).toEqual([2, 2, 1, 0, 0, 0, 1, 2, 2]);
    expect(ranks.slice(9, 18)).toEqual([5, 5, 4, 3, 3, 3, 4, 5, 5]);
    expect(ranks.slice(0, 9)).toEqual([8, 8, 7, 6, 6, 6, 7, 8, 8]);
    const given = setRank(
      plan,
      chosen(plan, ({ seat }) => seat.seat_guid === "A3"),
      40,
    );
    expect([...ranksOf(given).values()][2]).toBe(40);
  });
});

describe("checks", () => {
  const seat = (id: string, x: number, more: object = {}) => ({
    seat_guid: id,
    seat_number: id,
    position: { x, y: 0 },
    category: "One",
    ...more,
  });
  const house = (seats: object[], more: object = {}) =>
    planOf({
      size: { width: 100, height: 100 },
      categories: [{ name: "One" }],
      zones: [{ name: "Z", rows: [{ row_number: "A", seats }] }],
      ...more,
    });

  test.each<[string, Plan, Finding[]]>([
    ["nothing", house([seat("1", 1), seat("2", 20)]), []],
    ["no seat", house([]), ["no_seats", "empty_category"]],
    ["one id twice", house([seat("1", 1), seat("1", 20, { seat_number: "2" })]), ["same_id"]],
    ["one name twice", house([seat("1", 1), seat("2", 20, { seat_number: "1" })]), ["same_name"]],
    ["an id with a space", house([seat("a b", 1), seat("2", 20)]), ["bad_id"]],
    ["another category", house([seat("1", 1, { category: "?" }), seat("2", 20)]), ["no_category"]],
    ["a companion of nobody", house([seat("1", 1, { companion_of: "9" })]), ["no_place"]],
    ["a rank below 0", house([seat("1", 1, { rank: -1 })]), ["bad_rank"]],
    ["seats in one spot", house([seat("1", 1), seat("2", 1), seat("3", 21), seat("4", 41)]), ["on_top"]],
    ["all in one spot", house([seat("1", 1), seat("2", 1)]), ["on_top"]],
    ["an odd colour", house([seat("1", 1)], { zones: [] }), ["no_seats", "empty_category"]],
    ["a seat outside", house([seat("1", -1)]), ["outside"]],
    ["a seat far away", house([seat("1", 2e6)]), ["too_far", "outside"]],
    ["a nameless row", house([seat("1", 1, { seat_number: null })]), ["unnamed_seat"]],
  ])("%s is found", (_, plan, wanted) => {
    expect(findings(plan)).toEqual(wanted);
  });

  test.each(EXAMPLES)("%s has nothing wrong with it", (file) => {
    const plan = readPlan(example(file));
    expect(check(plan)).toEqual([]);
  });

  test("only what nobody could mend here keeps a file out", () => {
    expect(obstacle(house([seat("1", 1), seat("1", 20)]))?.finding).toBe("same_id");
    const many = Array.from({ length: 250_001 }, (_, nth) => seat(String(nth), nth));
    expect(obstacle(house(many))).toMatchObject({ finding: "too_many_seats", n: 250_001 });
    expect(obstacle(house([seat("a b", 1)]))).toBeUndefined();
  });

  test("a theatre of 2,000 seats is checked at once", () => {
    const { plan } = hall({ shape: "curved", rows: 40, seats: 50, radius: 300 });
    let reads = 0;
    for (const place of placesOf(plan)) {
      const { x } = place;
      const get = () => {
        reads += 1;
        return x;
      };
      Object.defineProperty(place, "x", { enumerable: true, get });
    }
    expect(findings(plan)).not.toContain("on_top");
    expect(reads).toBeGreaterThan(2_000);
    // A search of each seat among all others would be millions.
    expect(reads).toBeLessThan(2_000 * 100);
  });
});

describe("history", () => {
  test("any steps taken back and again lead to the same plans", () => {
    const random = chance(3);
    const start = hall().plan;
    let history = begin(start);
    const seen = [start];
    for (let nth = 0; nth < 50; nth += 1) {
      const plan = history.present;
      const some = chosen(plan, () => random() < 0.3);
      const changes = [
        () => moveBy(plan, some, 1 + random(), 0),
        () => setRank(plan, some, nth),
        () => addAisle(plan, some, 1),
        () => numberSeats(plan, some, { ...SCHEME, start: nth }),
        () => plan,
      ];
      const next = changes[Math.floor(random() * changes.length)]!();
      history = step(history, next);
      if (next !== plan) seen.push(next);
    }
    for (let nth = seen.length - 1; nth > 0; nth -= 1) {
      expect(history.present).toBe(seen[nth]);
      history = undo(history);
    }
    expect(history.present).toBe(start);
    for (let nth = 1; nth < seen.length; nth += 1) history = redo(history);
    expect(history.present).toBe(seen.at(-1));
    expect(redo(history)).toEqual(history);
  });

  test("it forgets its oldest steps, and a new one ends what could be done again", () => {
    let history = begin(0);
    for (let nth = 1; nth <= MAX_STEPS + 10; nth += 1) history = step(history, nth);
    expect(history.past).toHaveLength(MAX_STEPS);
    expect(step(undo(history), -1).future).toEqual([]);
  });
});
