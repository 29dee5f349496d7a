/** One Chromium for all tests, instead of one a file: whoever connects has contexts of their own in it. */
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  interface ProvidedContext {
    /** Where it listens. */
    chromium: string | undefined;
  }
}

// The headless shell first: the same engine without a window, for half of the processor's time.
const PLACES = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"];

/** What every Chromium is started with. */
export const SWITCHES = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Debian's Chromium, or the one that ONRUSH_CHROMIUM names, if there is one. */
export function program(): string | undefined {
  return (
    process.env.ONRUSH_CHROMIUM ?? PLACES.map((name) => `/usr/bin/${name}`).find((place) => existsSync(place))
  );
}

export default async function start({ provide }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const executablePath = program();
  // Most tests want none, and those that do say that there is none.
  if (!executablePath) return undefined;
  const server = await chromium.launchServer({ executablePath, args: SWITCHES });
  provide("chromium", server.wsEndpoint());
  return () => server.close();
}
