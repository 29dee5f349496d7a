/** What the organiser wrote about an event, in the visitor's language if there is such a text. */
import { ask, path } from "../../api/client";
import type { EventText, Texts } from "../../api/schema";
import { i18n } from "../../lib/i18n.svelte";

export type AllTexts = Texts["texts"];

export interface Words extends EventText {
  /** The language they are in, for readers and line breaks; `undefined` for an event without texts. */
  tag: string | undefined;
}

/** All texts of an event; none if they cannot be had, as its plain title is always there. */
export async function loadTexts(event: string): Promise<AllTexts> {
  try {
    return (await ask<Texts>(path`/events/${event}/texts`)).texts;
  } catch {
    return {};
  }
}

/** The text for the visitor's language, else English, else any, else the event's plain title. */
export function wordsOf(texts: AllTexts, title: string): Words {
  const tags = Object.keys(texts);
  const isOf = (language: string) => (tag: string) => tag.toLowerCase().split("-")[0] === language;
  const tag = tags.find(isOf(i18n.language)) ?? tags.find(isOf("en")) ?? tags[0];
  const found = tag === undefined ? undefined : texts[tag];
  return found ? { ...found, tag } : { title, tag: undefined };
}
