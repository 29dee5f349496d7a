/**
 * Pictures of the main pages for the README: `npm run pictures` writes them to docs/images. Thai
 * needs a font, such as Debian's fonts-noto-core.
 */
import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import type { BrowserContextOptions } from "playwright-core";
import { expect, test } from "vitest";
import { launch, PHONE, visit } from "../tests/browser";
import { enter, setUpScenes, show } from "../tests/scenes";
import { PROGRAM, Server } from "../tests/server";

const FOLDER = process.env.ONRUSH_PICTURES ?? path.resolve(import.meta.dirname, "../../docs/images");
const DESK: BrowserContextOptions = { viewport: { width: 1280, height: 800 } };

interface Look {
  options: BrowserContextOptions;
  language?: string;
}

/**
 * By scene: how it is looked at. A scene that is not here has no picture, unless ONRUSH_PICTURES
 * asks for all of them.
 */
const LOOKS: Record<string, Look[]> = {
  event: [{ options: DESK }],
  waiting: [{ options: PHONE }, { options: { ...PHONE, colorScheme: "dark" }, language: "th" }],
  "your-turn": [{ options: PHONE }],
  draw: [{ options: DESK }],
  "choose-best": [{ options: PHONE }],
  "choose-seats": [{ options: DESK }],
  "booking-held": [{ options: PHONE }],
  tickets: [{ options: PHONE }],
  "admin-events": [{ options: { ...DESK, colorScheme: "dark" } }],
};

test("pictures of the main pages are taken", async () => {
  mkdirSync(FOLDER, { recursive: true });
  const [server, browser] = await Promise.all([Server.start(), launch()]);
  const all = process.env.ONRUSH_PICTURES !== undefined;
  let taken = 0;
  for (const scene of await setUpScenes(server)) {
    const everything: Look[] = [{ options: DESK }, { options: { ...PHONE, colorScheme: "dark" } }];
    for (const { options, language } of LOOKS[scene.name] ?? (all ? everything : [])) {
      const { page, close } = await enter(browser, server, scene.as, language, options);
      await show(page, server, scene);
      // Charts and maps draw in the frames after their data.
      await page.waitForLoadState("networkidle").catch(() => {});
      const look = [scene.name, language, "colorScheme" in options ? "dark" : undefined].filter(Boolean);
      await page.screenshot({ path: path.join(FOLDER, `${look.join("-")}.png`) });
      taken += 1;
      await close();
    }
  }
  await browser.close();
  await server.stop();
  expect(taken).toBeGreaterThanOrEqual(Object.values(LOOKS).flat().length);
});

test("picture of the control room is taken in the middle of the demo's encore", async () => {
  mkdirSync(FOLDER, { recursive: true });
  const demo = spawn(PROGRAM, ["demo", "--stay", "--fans", "500", "--zone-capacity", "100"], {
    stdio: ["ignore", "inherit", "pipe"],
  });
  const browser = await launch();
  try {
    // It is said on standard error where the pages are, with which key one signs in, and how the sale goes.
    let url = "";
    let key = "";
    for await (const line of createInterface(demo.stderr)) {
      url ||= /(http:\/\/[0-9.:]+)\/admin/.exec(line)?.[1] ?? "";
      key ||= /\b(ak_[\w-]+)/.exec(line)?.[1] ?? "";
      if (Number(/^([\d,]+) of .* in the encore/.exec(line)?.[1]?.replaceAll(",", "") ?? 0) >= 400) break;
    }
    const { page, close } = await visit(browser, { viewport: { width: 1280, height: 2100 } });
    await page.request.post(`${url}/api/v1/session`, { data: { key } });
    await page.goto(`${url}/admin/events/encore`);
    await page.locator("canvas").last().scrollIntoViewIfNeeded();
    await page.locator(".loading").waitFor({ state: "detached" });
    // One more sample, so that all charts are drawn.
    await page.waitForResponse((response) => response.url().includes("/seats/status"));
    await page.screenshot({ path: path.join(FOLDER, "admin-control-room.png") });
    await close();
  } finally {
    await browser.close();
    const ended = new Promise((resolve) => demo.once("exit", resolve));
    demo.kill("SIGINT");
    expect(await ended).toBe(0);
  }
});
