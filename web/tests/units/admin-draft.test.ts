import { expect, test } from "vitest";
import {
  beginsAtOnce,
  changesOf,
  draftOf,
  fieldOf,
  newDraft,
  settingsOf,
  unreadTime,
  withOthers,
  withTyped,
  withWas,
} from "../../src/admin/events/draft";
import type { Event, EventDefaults } from "../../src/api/schema";

const terms = {
  hold_ttl_ms: 600_000,
  hold_max_ms: 1_800_000,
  payment_window_ms: 300_000,
  payment_attempts: 4,
  extensions: 2,
  max_per_user: 7,
  single_seats: "refuse" as const,
};
const defaults: EventDefaults = {
  ...terms,
  room: {
    capacity: 900,
    session_ms: 60_000,
    place_ttl_ms: 120_000,
    arrive_ms: 30_000,
    max_queue_size: 5_000,
    places_per_user: 1,
    units_per_visitor: 1,
    order: "fifo",
  },
};

test("new events begin with what the server says, and claims without a limit if it has none", () => {
  const settings = settingsOf({ ...newDraft(defaults), hasRoom: true });
  expect(settings).toMatchObject({ ...terms, claim_ttl_max_ms: null });
  expect(settings.room).toEqual({ ...defaults.room, outflow_per_min: null, public_value_source: null });
});

test("what was typed while the settings were on their way stays, and all else is as the server says", () => {
  const before = draftOf({ ...terms, event: "e", title: "E", currency: "EUR" } as unknown as Event, defaults);
  const sent = { ...before, title: "A show", refunds: [{ days_before: 7, percent: 80 }] };
  const now = { ...sent, title: "A shower", refunds: [...sent.refunds, { days_before: 1, percent: 50 }] };
  const answered = { ...sent, max_per_user: 3, refunds: [{ days_before: 7, percent: 80 }] };
  expect(withTyped(answered, sent, now)).toEqual({ ...now, max_per_user: 3 });
  expect(withTyped(answered, sent, sent)).toEqual(answered);
});

test("what the server tells beside a rule about refunds is not sent back", () => {
  const refunds = [{ days_before: 7, percent: 80, until: 1 }];
  const event = { ...terms, event: "e", title: "E", currency: "EUR", refunds } as unknown as Event;
  const before = draftOf(event, defaults);
  const after = { ...before, refunds: [...before.refunds, { days_before: 1, percent: 50 }] };
  expect(changesOf(before, after)).toEqual({
    refunds: [
      { days_before: 7, percent: 80 },
      { days_before: 1, percent: 50 },
    ],
  });
});

test("settings that are replaced as a whole are sent with what they were, as the server told it", () => {
  const refunds = [{ days_before: 7, percent: 80, until: 1 }];
  const fees = { fixed_minor: 150, percent_bp: 0 };
  const event = { ...terms, event: "e", title: "E", currency: "EUR", fees, refunds } as unknown as Event;
  expect(withWas({ title: "A show" }, event)).toEqual({ title: "A show" });
  expect(withWas({ refunds: [] }, event)).toEqual({ refunds: [], was: { refunds } });
  const changes = { fees: null, tax: { name: "VAT", rate_bp: 700 }, limits: [] };
  expect(withWas(changes, event)).toEqual({ ...changes, was: { fees, tax: null, limits: null } });
});

test("what somebody else changed is shown as they set it, and what is typed elsewhere stays", () => {
  const refunds = [{ days_before: 7, percent: 80 }];
  const event = { ...terms, event: "e", title: "E", currency: "EUR", refunds } as unknown as Event;
  const read = draftOf(event, defaults);
  const theirs = [{ days_before: 7, percent: 50 }];
  const fresh = { ...read, fee_percent: 5, refunds: theirs };
  const typed = { ...read, title: "A show", fee_fixed: 2, refunds: [] };
  const both = { ...read, title: "A show", fee_fixed: 2, fee_percent: 5, refunds: theirs };
  expect(withOthers(typed, read, fresh)).toEqual(both);
  expect(withOthers(typed, read, read)).toEqual(typed);
});

test("limits of parts are shown as they are, and sent as a whole once one of them is another", () => {
  const limits = [
    { of: { category: "stalls" }, max_per_user: 2 },
    { of: { pool: "ga" }, ticket_type: "child", max_per_user: 3 },
  ];
  const event = { ...terms, event: "e", title: "E", currency: "EUR", limits } as unknown as Event;
  const before = draftOf(event, defaults);
  expect(before.limits).toEqual([
    { kind: "category", name: "stalls", ticket_type: "", max_per_user: 2 },
    { kind: "pool", name: "ga", ticket_type: "child", max_per_user: 3 },
  ]);
  const unfinished = { kind: "pool" as const, name: " ", ticket_type: "", max_per_user: 2 };
  expect(changesOf(before, { ...before, limits: [...before.limits, unfinished] })).toEqual({});
  const after = { ...before, limits: before.limits.slice(0, 1) };
  expect(changesOf(before, after)).toEqual({ limits: limits.slice(0, 1) });
});

test("limits of payers are shown, sent when they are others, and taken away by an empty field", () => {
  expect(settingsOf(newDraft(defaults))).toMatchObject({ max_per_email: null, max_per_card: null });
  const limited = { ...terms, event: "e", title: "E", currency: "EUR", max_per_email: 4, max_per_card: 6 };
  const before = draftOf(limited as unknown as Event, defaults);
  expect(before).toMatchObject({ max_per_email: 4, max_per_card: 6 });
  expect(changesOf(before, before)).toEqual({});
  const after = { ...before, max_per_email: null, max_per_card: 2 };
  expect(changesOf(before, after)).toEqual({ max_per_email: null, max_per_card: 2 });
});

test("promised value is of a draw only, sent when it is another, and taken back by an empty field", () => {
  const room = { ...defaults.room, order: "draw" as const, public_value_source: "the lottery" };
  const event = { ...terms, event: "e", title: "E", currency: "EUR", room } as unknown as Event;
  const before = draftOf(event, defaults);
  expect(before.public_value_source).toBe("the lottery");
  expect(changesOf(before, before)).toEqual({});
  const other = { ...before, public_value_source: " another " };
  expect(changesOf(before, other)).toEqual({ room: { public_value_source: "another" } });
  const empty = { ...before, public_value_source: "" };
  expect(changesOf(before, empty)).toEqual({ room: { public_value_source: null } });
  const queue = { ...before, order: "fifo" as const };
  expect(changesOf(before, queue)).toEqual({ room: { order: "fifo", public_value_source: null } });
});

test("year of five digits is found at its field, and never sent as no time", () => {
  const draft = { ...newDraft(defaults), hasRoom: false, opens_at: "2026-12-24T20:00" };
  expect(unreadTime(draft)).toBeUndefined();
  expect(settingsOf(draft)["opens_at"]).toBe(new Date(2026, 11, 24, 20).getTime());
  const mistyped = { ...draft, opens_at: "20265-12-24T20:00" };
  expect(unreadTime(mistyped)).toBe("opens_at");
  expect(() => settingsOf(mistyped)).toThrow(RangeError);
  expect(() => changesOf(draft, mistyped)).toThrow(RangeError);
});

test.each([
  [{ opens_at: 1_000 }, "open"],
  [{ opens_at: 1_001 }, undefined],
  [{ opens_at: null }, undefined],
  [{ prequeue_at: 999 }, "prequeue"],
  [{ prequeue_at: 999, opens_at: 2_000 }, "prequeue"],
  [{ prequeue_at: 998, opens_at: 999 }, "open"],
  [{ closes_at: 999, starts_at: 999, title: "T" }, undefined],
])("of %j at 1000, what begins at once is %s", (settings, what) => {
  expect(beginsAtOnce(settings, 1_000)).toBe(what);
});

test("nothing begins that has begun, or is over", () => {
  for (const phase of ["open", "paused", "closed"] as const) {
    expect(beginsAtOnce({ prequeue_at: 1, opens_at: 1 }, 1_000, phase)).toBeUndefined();
  }
  expect(beginsAtOnce({ prequeue_at: 1 }, 1_000, "prequeue")).toBeUndefined();
  expect(beginsAtOnce({ opens_at: 1 }, 1_000, "prequeue")).toBe("open");
});

test.each([
  ["max_per_user", "max_per_user"],
  ["max_per_email", "max_per_email"],
  ["max_per_card", "max_per_card"],
  ["limits[1].max_per_user", "limits"],
  ["single_seats", "single_seats"],
  ["hold_ttl_ms", "hold_min"],
  ["room.capacity", "capacity"],
  ["room.session_ms", "session_min"],
  ["room.public_value_source", "public_value_source"],
  ["fees.percent_bp", "fee_percent"],
  ["tax.name", "tax_name"],
  ["tax.rate_bp", "tax_percent"],
  ["refunds", "refunds"],
  ["refunds[1].percent", "refunds"],
  ["opens_at", "opens_at"],
  ["room", "hasRoom"],
  ["amount_step_minor", undefined],
  [undefined, undefined],
])("what the server finds wrong with %s is shown at %s", (setting, field) => {
  expect(fieldOf(setting)).toBe(field);
});
