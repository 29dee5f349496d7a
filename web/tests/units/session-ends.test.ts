/** The words for how a session ends are the server's. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { SESSION_ENDS } from "../../src/lib/live/message";

test("pages know every way in which the server ends a session", () => {
  const change = path.resolve(import.meta.dirname, "../../../crates/core/src/change.rs");
  const [, variants = ""] = /pub enum SessionEnd \{([^}]*)\}/.exec(readFileSync(change, "utf8")) ?? [];
  const names = variants.match(/^ {4}[A-Z]\w*(?=,)/gm) ?? [];
  const told = names.map((name) =>
    name
      .trim()
      .replace(/\B[A-Z]/g, "_$&")
      .toLowerCase(),
  );
  expect(told).toContain("payment_failed");
  expect([...SESSION_ENDS].sort()).toEqual(told.sort());
});
