import { expect, test } from "vitest";
import { unsavedOf } from "../../src/admin/events/texts";

const none = { title: "", venue: "", description: "" };

test("text is unsaved in each language in which it is not as the server has it", () => {
  const saved = { en: { ...none, title: "Tour" }, th: none, vi: none, ko: none };
  const drafts = {
    en: { ...none, title: "Tour" },
    th: { ...none, venue: "Hall" },
    vi: { ...none, description: "Long" },
    ko: { ...none, title: "Tour" },
  };
  expect(unsavedOf(drafts, saved)).toEqual(["th", "vi", "ko"]);
  expect(unsavedOf(drafts, { ...saved, th: drafts.th })).toEqual(["vi", "ko"]);
  expect(unsavedOf(saved, saved)).toEqual([]);
});
