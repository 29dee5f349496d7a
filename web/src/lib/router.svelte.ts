/**
 * Which page the address names. Links are ordinary links; those to our own pages are followed
 * without a reload.
 */
import type { Component } from "svelte";

/** Loads a page. Its props are the ids of its path, which differ from page to page. */
export type Load = () => Promise<{ default: Component<never> }>;

/** What a page keeps beside its address: addresses are written into logs, and sent on. */
type Beside = Record<string, string>;

let path = $state(location.pathname);
let query = $state.raw(new URLSearchParams(location.search));
let beside = $state.raw(besideIn(history.state));

/**
 * The part of this page that a link leads to just now. The browser makes an entry for it, with nothing
 * beside; the way back may come to an entry of the same address with nothing beside as well.
 */
let part: string | undefined;

/** What somebody is asked before this page goes: a question where they would lose something by that. */
type Question = () => string | undefined;
const questions = new Set<Question>();

/**
 * Has somebody asked before another page is shown, or none, until what is returned is called. Parts of a
 * page each have their own question; where they ask the same it is asked once.
 */
export function beforeLeaving(question: Question): () => void {
  questions.add(question);
  // Not on pages that never ask: some browsers do not keep a page that listens, for the way back.
  addEventListener("beforeunload", keep);
  return () => {
    questions.delete(question);
    if (questions.size === 0) removeEventListener("beforeunload", keep);
  };
}

/** Whether this page may go: nobody would lose anything by that, or they say so. */
export function mayLeave(): boolean {
  return asked().every((text) => confirm(text));
}

function asked(): string[] {
  const texts = [...questions].map((question) => question());
  return [...new Set(texts.filter((text) => text !== undefined))];
}

/** Browsers ask in their own words. */
function keep(event: BeforeUnloadEvent): void {
  if (asked().length > 0) event.preventDefault();
}

/** The browser went back or forward already: whoever stays goes on to where they were. */
function follow(): void {
  const isPart = location.href === part && history.state === null;
  part = undefined;
  if (isPart) {
    // It is the same page still.
    history.replaceState(entryOf(beside), "");
  } else if (location.pathname !== path && !mayLeave()) {
    const text = query.toString();
    history.pushState(entryOf(beside), "", text === "" ? path : `${path}?${text}`);
  } else {
    read();
  }
}

function read(): void {
  path = location.pathname;
  query = new URLSearchParams(location.search);
  beside = besideIn(history.state);
}

/** What stands beside the address of an entry of the history; others keep theirs there as well. */
function besideIn(entry: unknown): Beside {
  return (entry as { beside?: Beside } | null)?.beside ?? {};
}

function entryOf(beside: Beside): { beside: Beside } | null {
  return Object.keys(beside).length > 0 ? { beside } : null;
}

export const route = {
  get path(): string {
    return path;
  },
  get query(): URLSearchParams {
    return query;
  },
  /** What stands beside the address, also after a reload and on the way back. */
  get beside(): Beside {
    return beside;
  },
};

/**
 * Goes to a page. `replace` leaves no step back, for pages that only pass on; `beside` is what shall
 * stand in no address.
 */
export function go(to: string, how: { replace?: boolean; beside?: Beside } = {}): void {
  if (!mayLeave()) return;
  const entry = entryOf(how.beside ?? {});
  if (how.replace) history.replaceState(entry, "", to);
  else history.pushState(entry, "", to);
  read();
  scrollTo(0, 0);
}

/** The parts of a path by their names: `match("/events/:event", "/events/tour")` is `{event: "tour"}`. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  const wanted = pattern.split("/").filter(Boolean);
  const there = path.split("/").filter(Boolean);
  if (wanted.length !== there.length) return undefined;
  const parts: Record<string, string> = {};
  for (const [index, want] of wanted.entries()) {
    const part = decoded(there[index]!);
    if (part === undefined) return undefined;
    if (want.startsWith(":")) parts[want.slice(1)] = part;
    else if (want !== part) return undefined;
  }
  return parts;
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** Follows links below these paths by itself; all others are the browser's. */
export function followLinks(isOurs: (path: string) => boolean): void {
  addEventListener("popstate", follow);
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.("a");
    if (!link || link.target || link.hasAttribute("download") || link.origin !== location.origin) return;
    if (link.pathname === location.pathname && link.hash) {
      part = link.href;
      return;
    }
    if (!isOurs(link.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
