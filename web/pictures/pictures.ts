/**
 * Pictures of the main pages for the README: `npm run pictures` writes them to docs/images. Thai needs a font, such as
 * Debian's fonts-noto-core.
 */
import { mkdirSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { launch, PHONE } from "../tests/browser";
import { enter, setUpScenes, show } from "../tests/scenes";
import { Server } from "../tests/server";

const FOLDER = process.env.ONRUSH_PICTURES ?? path.resolve(import.meta.dirname, "../../docs/images");
const DESK = { viewport: { width: 1280, height: 800 } };

/** By scene: how it is looked at. A scene that is not here has no picture, unless ONRUSH_PICTURES asks for all of them. */
const LOOKS: Record<string, { options: object; language?: string }[]> = {
  event: [{ options: DESK }],
  waiting: [{ options: PHONE }, { options: { ...PHONE, colorScheme: "dark" }, language: "th" }],
  "your-turn": [{ options: PHONE }],
  draw: [{ options: DESK }],
  "choose-seats": [{ options: DESK }],
  "booking-held": [{ options: PHONE }],
  tickets: [{ options: PHONE }],
  "admin-control-room": [{ options: { viewport: { width: 1280, height: 1700 } } }],
  "admin-events": [{ options: { ...DESK, colorScheme: "dark" } }],
};

test("pictures of the main pages are taken", async () => {
  mkdirSync(FOLDER, { recursive: true });
  const [server, browser] = await Promise.all([Server.start(), launch()]);
  const all = process.env.ONRUSH_PICTURES !== undefined;
  let taken = 0;
  for (const scene of await setUpScenes(server)) {
    const everything = [{ options: DESK }, { options: { ...PHONE, colorScheme: "dark" } }];
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
