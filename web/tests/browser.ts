/** A real Chromium for a test, and what tests often do with it. */
import AxeBuilderSource from "axe-core";
import {
  type Browser,
  type BrowserContextOptions,
  chromium,
  type Download,
  type Locator,
  type Page,
} from "playwright-core";
import { expect, inject } from "vitest";
import { program, SWITCHES } from "./chromium";

/** A browser: in the Chromium of all tests where there is one, or with `more` switches in one of its own. */
export async function launch(more: string[] = []): Promise<Browser> {
  const shared = inject("chromium");
  if (shared && more.length === 0) return chromium.connect(shared);
  const executablePath = program();
  if (!executablePath)
    throw new Error(
      "there is no Chromium; on Debian or Ubuntu: sudo apt-get install chromium-headless-shell",
    );
  return chromium.launch({ executablePath, args: [...SWITCHES, ...more] });
}

/** A phone in somebody's hand. */
export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 844 },
  deviceScaleFactor: 2,
  isMobile: true,
  hasTouch: true,
};

/**
 * Somebody else's browser. What its pages complain of is collected, and {@link Visit.complaints}
 * must stay empty.
 */
export async function visit(browser: Browser, options: BrowserContextOptions = {}): Promise<Visit> {
  const context = await browser.newContext({ locale: "en-GB", timezoneId: "UTC", ...options });
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    const isOfRules = /Content Security Policy|Refused to/.test(message.text());
    if (isOfRules) complaints.push(message.text());
  });
  const close = async () => {
    // What still asks for a page that was taken away would fail the test that comes next.
    await Promise.all(context.pages().map((each) => each.unrouteAll({ behavior: "ignoreErrors" })));
    await context.close();
  };
  return { page, complaints, close };
}

export interface Visit {
  page: Page;
  complaints: string[];
  close: () => Promise<void>;
}

/** A browser that is told to keep nothing, as Chromium does it. */
export async function forgetful(browser: Browser): Promise<Visit> {
  const visited = await visit(browser);
  await visited.page.addInitScript(() => {
    const denied = () => new DOMException("denied", "SecurityError");
    for (const name of ["localStorage", "sessionStorage"]) {
      Object.defineProperty(window, name, {
        get() {
          throw denied();
        },
      });
    }
    navigator.locks.request = () => Promise.reject(denied());
  });
  return visited;
}

/** Waits until nothing on the page is being loaded: several things may be at once. */
export async function loaded(page: Page): Promise<void> {
  await expect.poll(() => page.getByText("Loading…").count(), { timeout: 20_000 }).toBe(0);
}

/** Presses Tab until something has the focus, as somebody without a mouse does. */
export async function tabTo(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  for (let presses = 0; presses < 40; presses += 1) {
    if (await what.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  throw new Error("Tab never comes there");
}

/** What axe finds wrong by WCAG 2.2 AA: a line each, none if all is well. */
export async function violations(page: Page): Promise<string[]> {
  // Debugger evaluation is not bound by the page's content security policy.
  await page.evaluate(AxeBuilderSource.source);
  return page.evaluate(async () => {
    const axe = (window as unknown as { axe: typeof AxeBuilderSource }).axe;
    const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
    const result = await axe.run(document, { runOnly: { type: "tag", values: tags } });
    return result.violations.map((violation) => {
      const where = violation.nodes.map((node) => node.target.join(" ")).slice(0, 5);
      return `${violation.id}: ${violation.help}: ${where.join(", ")}`;
    });
  });
}

/** What was downloaded. The browser may be another process's, so that there is no path to its file. */
export async function contentOf(download: Download): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of await download.createReadStream()) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
