/** Texts by language: small JSON catalogues, one file an area, the chosen language's loaded and no other. */
import type admin from "../i18n/en/admin.json";
import type checkout from "../i18n/en/checkout.json";
import type common from "../i18n/en/common.json";
import type events from "../i18n/en/events.json";
import type plan from "../i18n/en/plan.json";
import type queue from "../i18n/en/queue.json";
import type seats from "../i18n/en/seats.json";
import { NoAnswer } from "../api/client";
import { partOf, partOfNow } from "./anew";
import { store } from "./store";

interface Areas {
  admin: typeof admin;
  checkout: typeof checkout;
  common: typeof common;
  events: typeof events;
  plan: typeof plan;
  queue: typeof queue;
  seats: typeof seats;
}
export type Area = keyof Areas;
/** `"queue.your_turn"`: the area, and the text's name in its file. */
export type Key = { [A in Area]: `${A}.${keyof Areas[A] & string}` }[Area];
/** A text, or one for each plural category of the language, chosen by the value called `n`. */
type Text = string | Partial<Record<Intl.LDMLPluralRule, string>>;
type Values = Record<string, string | number>;
type Texts = Partial<Record<string, Text>>;

export const LANGUAGES = {
  en: "English",
  th: "ไทย",
  vi: "Tiếng Việt",
  ko: "한국어",
  id: "Bahasa Indonesia",
} as const;
export type Language = keyof typeof LANGUAGES;

const STORED = "onrush.language";
/** The longest pause before the texts of a page that has none are asked for again; the first is a second. */
const PAUSE_MAX_MS = 15_000;
const files = import.meta.glob<{ default: Record<string, Text> }>("../i18n/*/*.json");

let language = $state<Language>("en");
let areas: Area[] = [];
let texts = $state.raw<Texts>({});

/** What a browser's list of languages comes to. */
export function chooseLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const short = tag.toLowerCase().split("-")[0] as Language;
    if (short in LANGUAGES) return short;
  }
  return "en";
}

async function read(of: Language): Promise<Texts> {
  const loaded = await Promise.all(
    areas.map(async (area) => [area, await files[`../i18n/${of}/${area}.json`]?.()] as const),
  );
  const all: Texts = {};
  for (const [area, file] of loaded) {
    for (const [name, text] of Object.entries(file?.default ?? {})) all[`${area}.${name}`] = text;
  }
  return all;
}

async function load(to: Language, part: typeof partOf): Promise<void> {
  texts = await part(`texts in ${to}`, () => read(to));
  language = to;
  document.documentElement.lang = to;
}

async function loadFirst(to: Language): Promise<void> {
  try {
    await load(to, partOf);
  } catch (error) {
    // A page in English is more than none; one in their language may still come.
    if (to === "en" || error instanceof NoAnswer) throw error;
    await load("en", partOf);
  }
}

export const i18n = {
  get language(): Language {
    return language;
  },

  /**
   * Loads these areas in the language of the address (`?lang=`), of last time, or of the browser. There is no
   * page without them: as long as the server is not there they are asked for again, after growing pauses.
   * @throws {NoPart} if they are gone, in English as well.
   */
  async start(wanted: Area[]): Promise<void> {
    areas = wanted;
    const asked = new URLSearchParams(location.search).get("lang");
    const last = store.get(STORED);
    const first = chooseLanguage([asked, last, ...navigator.languages].filter((tag) => tag !== null));
    for (let failures = 0; ; failures += 1) {
      try {
        return await loadFirst(first);
      } catch (error) {
        if (!(error instanceof NoAnswer)) throw error;
        const pauseMs = Math.min(1_000 * 2 ** failures, PAUSE_MAX_MS) * (0.5 + Math.random());
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  },

  /** Changes the language, and remembers it. @throws as `partOfNow` does; then it stays as it is. */
  async choose(to: Language): Promise<void> {
    await load(to, partOfNow);
    store.set(STORED, to);
  },

  /** Remembers the language, and loads the page anew in it: for who knows that what they typed may go. */
  chooseAnew(to: Language): void {
    store.set(STORED, to);
    location.reload();
  },
};

/**
 * The text of this name, with `{values}` put in. A name without a text is shown as it is, and fails
 * the tests.
 */
export function t(key: Key, values: Values = {}): string {
  const found = texts[key];
  if (found === undefined) return `⟨${key}⟩`;
  return fill(found, values);
}

/** The text for something that the server names, such as a problem's code; `undefined` if there is none. */
export function named(area: Area, name: string, values: Values = {}): string | undefined {
  const found = texts[`${area}.${name}`];
  return found === undefined ? undefined : fill(found, values);
}

function fill(text: Text, values: Values): string {
  let chosen: string;
  if (typeof text === "string") {
    chosen = text;
  } else {
    const category = new Intl.PluralRules(language).select(Number(values.n ?? 0));
    chosen = text[category] ?? text.other ?? "";
  }
  return chosen.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? new Intl.NumberFormat(language).format(value) : value;
  });
}
