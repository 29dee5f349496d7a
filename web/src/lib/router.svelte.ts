/**
 * Which page the address names. Links are ordinary links; those to our own pages are followed
 * without a reload.
 */
import type { Component } from "svelte";

/** Loads a page. Its props are the ids of its path, which differ from page to page. */
export type Load = () => Promise<{ default: Component<never> }>;

let path = $state(location.pathname);
let query = $state.raw(new URLSearchParams(location.search));

/** Asked before another page is shown, if somebody would lose something by that. */
let mayLeave: (() => boolean) | undefined;

/** Has somebody asked before another page is shown, until what is returned is called. */
export function beforeLeaving(ask: () => boolean): () => void {
  mayLeave = ask;
  return () => {
    if (mayLeave === ask) mayLeave = undefined;
  };
}

/** The browser went back or forward already: whoever stays goes on to where they were. */
function follow(): void {
  if (location.pathname !== path && mayLeave?.() === false) {
    const text = query.toString();
    history.pushState(null, "", text === "" ? path : `${path}?${text}`);
  } else {
    read();
  }
}

function read(): void {
  path = location.pathname;
  query = new URLSearchParams(location.search);
}

export const route = {
  get path(): string {
    return path;
  },
  get query(): URLSearchParams {
    return query;
  },
};

/** Goes to a page. `replace` leaves no step back, for pages that only pass on. */
export function go(to: string, how: { replace?: boolean } = {}): void {
  if (mayLeave?.() === false) return;
  if (how.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
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
    if (link.pathname === location.pathname && link.hash) return;
    if (!isOurs(link.pathname)) return;
    event.preventDefault();
    go(link.pathname + link.search + link.hash);
  });
}
