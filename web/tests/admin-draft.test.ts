import { expect, test } from "vitest";
import { fieldOf } from "../src/admin/events/draft";

test.each([
  ["max_per_user", "max_per_user"],
  ["hold_ttl_ms", "hold_min"],
  ["room.capacity", "capacity"],
  ["room.session_ms", "session_min"],
  ["fees.percent_bp", "fee_percent"],
  ["refunds", "refunds"],
  ["refunds[1].percent", "refunds"],
  ["opens_at", "opens_at"],
  ["room", "hasRoom"],
  ["amount_step_minor", undefined],
  [undefined, undefined],
])("what the server finds wrong with %s is shown at %s", (setting, field) => {
  expect(fieldOf(setting)).toBe(field);
});
