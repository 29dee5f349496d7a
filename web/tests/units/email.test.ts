import { expect, test } from "vitest";
import { canBeWrittenTo } from "../../src/buyer/checkout/email";

test.each([
  "ann@example.org",
  "a@b",
  "ann.lee+tickets@mail.example.org",
  "o'neill_1@xn--bcher-kva.example",
  "{x}@1.example",
  `${"a".repeat(64)}@example.org`,
])("letter can be sent to %s", (address) => {
  expect(canBeWrittenTo(address)).toBe(true);
});

test.each([
  "",
  "ann",
  "ann@",
  "@example.org",
  "ann@example.org,",
  "ann@example..org",
  "ann@example.org.",
  "ann@-example.org",
  "ann@exam_ple.org,bob@example.org",
  "<ann@example.org>",
  "ann.@example.org",
  ".ann@example.org",
  "a..b@example.org",
  "ann@bob@example.org",
  "ann lee@example.org",
  '"ann"@example.org',
  "ann@[127.0.0.1]",
  "änn@example.org",
  "ann@exämple.org",
  `${"a".repeat(65)}@example.org`,
  `ann@${"example.".repeat(40)}org`,
])("no letter can be sent to %s", (address) => {
  expect(canBeWrittenTo(address)).toBe(false);
});
