/** Every language has every text, with the same values in it and a form for each of its plurals. */
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";

type Text = string | Record<string, string>;

const CATALOGUES = path.resolve(import.meta.dirname, "../../src/i18n");
const languages = readdirSync(CATALOGUES);
const areas = readdirSync(path.join(CATALOGUES, "en"));

function read(language: string, area: string): Record<string, Text> {
  return JSON.parse(readFileSync(path.join(CATALOGUES, language, area), "utf8"));
}

function forms(text: Text): string[] {
  return typeof text === "string" ? [text] : Object.values(text);
}

/** The names of the values in a text, each once. */
function values(text: Text): string[] {
  const found = forms(text).flatMap((form) => [...form.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!));
  return [...new Set(found)].sort();
}

test("five languages are there, with all areas", () => {
  expect(languages.sort()).toEqual(["en", "id", "ko", "th", "vi"]);
  for (const language of languages) expect(readdirSync(path.join(CATALOGUES, language))).toEqual(areas);
});

test.each(languages)("%s has every text with its values and plurals", (language) => {
  const plurals = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
  for (const area of areas) {
    const english = read("en", area);
    const there = read(language, area);
    expect(Object.keys(there), `${language}/${area}`).toEqual(Object.keys(english));
    for (const [name, text] of Object.entries(there)) {
      const where = `${language}/${area}: ${name}`;
      expect(values(text), where).toEqual(values(english[name]!));
      for (const form of forms(text)) expect(form.trim(), where).not.toBe("");
      if (typeof text === "string") continue;
      // English decides whether a text has forms; a language without plurals has the one form it needs.
      expect(Object.keys(text).sort(), where).toEqual([...plurals].sort());
    }
  }
});

test.each(languages)("%s tells a server that stops from one that did not answer in time", (language) => {
  const { code_STOPPED, code_ENGINE_UNREACHABLE } = read(language, "admin.json");
  expect(code_STOPPED).not.toBe(code_ENGINE_UNREACHABLE);
});

/** They are there before any text is. */
test.each(["index.html", "admin.html"])("%s offers another try in every language", (name) => {
  const words = readFileSync(path.resolve(import.meta.dirname, "../..", name), "utf8");
  for (const language of languages) expect(words).toContain(read(language, "common.json").try_again);
});
