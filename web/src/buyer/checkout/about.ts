/** What an event is called, where and when it is, and how it sells: read once a page. */
import { path, persist, Refused } from "../../api/client";
import type { Event as Sale, EventText, Texts } from "../../api/schema";

export interface About {
  sale: Sale;
  texts: Record<string, EventText>;
}

const known = new Map<string, Promise<About>>();

/** Reads an event; asked again in the same visit, it is known already. */
export function aboutEvent(event: string): Promise<About> {
  const there = known.get(event);
  if (there) return there;
  const asked = read(event);
  known.set(event, asked);
  asked.catch(() => known.delete(event));
  return asked;
}

async function read(event: string): Promise<About> {
  const [sale, texts] = await Promise.all([
    persist<Sale>(path`/events/${event}`, { tellsTime: true }),
    persist<Texts>(path`/events/${event}/texts`).catch((error: unknown) => {
      // Texts are a courtesy: the title of the event stands in for them.
      if (error instanceof Refused) return { event, texts: {} } satisfies Texts;
      throw error;
    }),
  ]);
  return { sale, texts: texts.texts };
}

/** The texts in this language, or else in English. */
function textOf(about: About, language: string): EventText | undefined {
  const inLanguage = (wanted: string) =>
    Object.entries(about.texts).find(([tag]) => tag.toLowerCase().split("-")[0] === wanted)?.[1];
  return inLanguage(language) ?? inLanguage("en");
}

export function titleOf(about: About, language: string): string {
  return textOf(about, language)?.title ?? about.sale.title;
}

export function venueOf(about: About, language: string): string | undefined {
  return textOf(about, language)?.venue;
}
