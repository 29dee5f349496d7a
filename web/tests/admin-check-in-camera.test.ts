import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import encodeQR from "qr";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sell, signIn, ticketCode } from "./admin";
import { launch, violations, visit } from "./browser";
import { buy, holdAnswers, openDoor, typeIn } from "./door";
import { openEvent, SCANNER_KEY, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openDoor(server);
  await openEvent(server, "family-door", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 20, price_minor: 4_500 }],
  });
  await server.organise("PUT", "/events/family-door/types", {
    pool: "ga",
    types: [
      { id: "adult", name: "Adult", percent_bp: 10_000 },
      { id: "child", name: "Child", percent_bp: 5_000, proof: true },
    ],
    by: "Ann",
    why: "families",
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("camera reads a ticket's QR code", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-1"] }));
  const dir = await mkdtemp(path.join(tmpdir(), "onrush-camera-"));
  const film = path.join(dir, "ticket.y4m");
  await writeFile(film, filmOf(code));
  const filming = await launch([
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    `--use-file-for-fake-video-capture=${film}`,
  ]);
  try {
    const { page, complaints } = await visit(filming, { permissions: ["camera"] });
    await signIn(page, server, "/admin/check-in", SCANNER_KEY);
    await page.getByRole("button", { name: "Start camera" }).click();
    await page.getByRole("heading", { name: "Welcome" }).waitFor({ timeout: 20_000 });
    await page.getByText(seatName(1)).waitFor();
    // It stays in the picture, and is not taken for a second visit.
    const played = () => page.locator("video").evaluate((video: HTMLVideoElement) => video.currentTime);
    const readAt = await played();
    await expect.poll(played, { timeout: 20_000 }).toBeGreaterThan(readAt + 2);
    await page.getByRole("button", { name: "Stop camera" }).click();
    expect(await page.getByText("Used already").count()).toBe(0);
    expect(complaints).toEqual([]);
  } finally {
    await filming.close();
    await rm(dir, { recursive: true });
  }
});

test("copy shown right after its ticket is told from it, and the server is not asked", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-2"] }));
  const dir = await mkdtemp(path.join(tmpdir(), "onrush-camera-"));
  const film = path.join(dir, "ticket.y4m");
  // The film begins again: somebody else holds up the same code.
  await writeFile(film, filmOf(code, { goneS: 1.5 }));
  const filming = await launch([
    "--use-fake-device-for-media-stream",
    "--use-fake-ui-for-media-stream",
    `--use-file-for-fake-video-capture=${film}`,
  ]);
  try {
    const { page, complaints } = await visit(filming, { permissions: ["camera"] });
    let asked = 0;
    await page.route("**/api/v1/check-in", (route) => {
      asked += 1;
      return route.continue();
    });
    await signIn(page, server, "/admin/check-in", SCANNER_KEY);
    const cards = await noteCards(page);
    await page.getByRole("button", { name: "Start camera" }).click();
    const result = page.locator(".result section");
    await result.getByRole("heading", { name: "The same ticket" }).waitFor();
    await result.getByText(/^Let in at \d+:\d\d:\d\d.*\. Nobody else comes in with it\.$/).waitFor();
    await result.getByText(seatName(2)).waitFor();
    expect(asked).toBe(1);
    // With the ticket the green went, before anybody else came.
    expect(await cards()).toEqual(["Welcome", "Welcome, gone", "The same ticket"]);
    await page.getByRole("button", { name: "Stop camera" }).click();
    expect(await violations(page)).toEqual([]);
    expect(complaints).toEqual([]);
  } finally {
    await filming.close();
    await rm(dir, { recursive: true });
  }
});

test("ticket that comes back into the picture keeps its type, the proof to check and the name", async () => {
  const wish = { pools: { ga: 1 }, types: { pools: { ga: { child: 1 } } } };
  const code = await ticketCode(server, await buy(browser, server, "family-door", wish, "Kim Lee"));
  await atCamera(async (page) => {
    const result = page.locator(".result section");
    await film(page, [code]);
    await result.getByRole("heading", { name: "Welcome" }).waitFor();
    // Who is asked for a proof lowers the phone to look for it.
    await film(page, [...AWAY, code]);
    await result.getByRole("heading", { name: "The same ticket" }).waitFor();
    await result.getByText("Child: check proof").waitFor();
    await result.getByText("Kim Lee").waitFor();
    await film(page, [...AWAY, code]);
    const before = page.getByRole("listitem").filter({ hasText: "The same ticket" });
    await before.getByText("Kim Lee").waitFor();
    await result.getByText("Child: check proof").waitFor();
    await result.getByText("Kim Lee").waitFor();
    expect(await violations(page)).toEqual([]);
  });
});

test("ticket that was typed in stays green while the camera sees nobody", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  await atCamera(async (page) => {
    await typeIn(page, code);
    await page.locator(".result section.in").waitFor();
    await film(page, [...AWAY, null]);
    await filmed(page);
    expect(await page.locator(".result h2").innerText()).toBe("Welcome");
    expect(await page.locator(".result section.gone").count()).toBe(0);
  });
});

test("green of a ticket goes as soon as the camera sees the next one", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  await atCamera(async (page) => {
    await film(page, [codes[0]!]);
    await page.locator(".result section.in:not(.gone)").waitFor();
    const answer = await holdAnswers(page);
    await film(page, [codes[1]!]);
    await page.locator(".result section.in.gone").waitFor();
    answer();
    await page.locator("ol > li").waitFor();
    await page.locator(".result section.in:not(.gone)").waitFor();
  });
});

test("copy that is shown before the answer for its ticket came is told from it", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-3"] }));
  await atCamera(async (page) => {
    const answer = await holdAnswers(page);
    const cards = await noteCards(page);
    await film(page, [code, ...AWAY, code, code]);
    await filmed(page);
    answer();
    const result = page.locator(".result section");
    await result.getByRole("heading", { name: "The same ticket" }).waitFor();
    await result.getByText(/^Let in at .*: one person\..* look who showed it first\.$/).waitFor();
    await result.getByText(seatName(3)).waitFor();
    // The one before them is in.
    await page
      .getByRole("listitem")
      .filter({ hasText: seatName(3) })
      .getByText("Welcome")
      .waitFor();
    expect(await cards()).toEqual(["The same ticket"]);
  });
});

test("ticket that is gone when its answer comes is not green", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["B-4"] }));
  await atCamera(async (page) => {
    const answer = await holdAnswers(page);
    const cards = await noteCards(page);
    await film(page, [code, ...AWAY, null]);
    await filmed(page);
    answer();
    await page.locator(".result section.in.gone").waitFor();
    expect(await cards()).toEqual(["Welcome, gone"]);
    // Within 3 s of the answer, whenever that came.
    await film(page, [code]);
    await page
      .locator(".result")
      .getByText(/^Let in at .* Nobody else comes in with it\.$/)
      .waitFor();
  });
});

test("camera that starts when the page is left already is switched off", async () => {
  const filming = await launch(["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]);
  try {
    const { page } = await visit(filming, { permissions: ["camera"] });
    await page.addInitScript(() => {
      const cameras = navigator.mediaDevices;
      const own = cameras.getUserMedia.bind(cameras);
      const released = new Promise<void>((resolve) => Object.assign(window, { release: resolve }));
      cameras.getUserMedia = async (wish) => {
        await released;
        const stream = await own(wish);
        Object.assign(window, { tracks: stream.getTracks() });
        return stream;
      };
    });
    await signIn(page, server, "/admin/check-in");
    await page.getByRole("button", { name: "Start camera" }).click();
    await page.getByRole("link", { name: "Events", exact: true }).click();
    await page.getByRole("heading", { name: "Events" }).waitFor();
    await page.evaluate(() => (window as unknown as { release: () => void }).release());
    const states = () =>
      page.evaluate(() =>
        (window as unknown as { tracks?: MediaStreamTrack[] }).tracks?.map((track) => track.readyState),
      );
    await expect.poll(states).toEqual(["ended"]);
  } finally {
    await filming.close();
  }
});

/** A seat of row B. Nobody waits for its name, which is its id where the names come late. */
function seatName(number: number): RegExp {
  return new RegExp(`(Stalls · B · |B-)${number}\\b`);
}

/** Nothing in the picture, for longer than a ticket may be out of it: each look takes 120 ms or more. */
const AWAY = new Array<null>(9).fill(null);

/** What a camera of the tests has to show. */
interface Film {
  film: (string | null)[];
}

/** A scanner's page whose camera is on, and sees nothing until a {@link film} is put in. */
async function atCamera(use: (page: Page) => Promise<void>): Promise<void> {
  const filming = await launch(["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]);
  try {
    const { page, complaints } = await visit(filming, { permissions: ["camera"] });
    await page.addInitScript(() => {
      const camera = window as unknown as Film;
      camera.film = [null];
      class BarcodeDetector {
        static getSupportedFormats() {
          return Promise.resolve(["qr_code"]);
        }
        detect() {
          const code = camera.film.length > 1 ? camera.film.shift() : camera.film[0];
          return Promise.resolve(code ? [{ rawValue: code }] : []);
        }
      }
      Object.assign(window, { BarcodeDetector });
    });
    await signIn(page, server, "/admin/check-in", SCANNER_KEY);
    await page.getByRole("button", { name: "Start camera" }).click();
    await page.getByRole("button", { name: "Stop camera" }).waitFor();
    await use(page);
    expect(complaints).toEqual([]);
  } finally {
    await filming.close();
  }
}

/** Lets the camera see this code or none at each look, and the last of them from then on. */
async function film(page: Page, codes: (string | null)[]): Promise<void> {
  await page.evaluate((codes) => {
    (window as unknown as Film).film = codes;
  }, codes);
}

/** Until the camera was looked at so often that the last of its film stays. */
async function filmed(page: Page): Promise<void> {
  await expect.poll(() => page.evaluate(() => (window as unknown as Film).film.length)).toBe(1);
}

/** Notes from now on which cards are shown, and whether their bearer is said to be gone: each once. */
async function noteCards(page: Page): Promise<() => Promise<string[]>> {
  await page.locator(".result").waitFor();
  await page.evaluate(() => {
    const shown: string[] = [];
    Object.assign(window, { shown });
    new MutationObserver(() => {
      const card = document.querySelector(".result section");
      const heading = card?.querySelector("h2")?.textContent;
      if (card) shown.push(`${heading}${card.matches(".gone") ? ", gone" : ""}`);
    }).observe(document.querySelector(".result")!, { subtree: true, childList: true, attributes: true });
  });
  return async () => {
    const shown = await page.evaluate(() => (window as unknown as { shown: string[] }).shown);
    return [...new Set(shown)];
  };
}

/**
 * Two seconds of film that show this code as a QR code, and then none for `goneS`: YUV4MPEG2, which
 * Chromium plays as its camera.
 */
function filmOf(code: string, { goneS = 0 } = {}): Buffer {
  const width = 640;
  const height = 480;
  const dots = encodeQR(code, "raw", { border: 4 });
  const scale = Math.floor(height / dots.length);
  const left = (width - scale * dots.length) >> 1;
  const top = (height - scale * dots.length) >> 1;
  const luma = Buffer.alloc(width * height, 235);
  for (const [row, line] of dots.entries()) {
    for (const [column, isDark] of line.entries()) {
      if (!isDark) continue;
      for (let y = 0; y < scale; y += 1) {
        const from = (top + row * scale + y) * width + left + column * scale;
        luma.fill(16, from, from + scale);
      }
    }
  }
  const chroma = Buffer.alloc((width * height) / 2, 128);
  const frame = Buffer.concat([Buffer.from("FRAME\n"), luma, chroma]);
  const blank = Buffer.concat([Buffer.from("FRAME\n"), Buffer.alloc(width * height, 235), chroma]);
  const head = Buffer.from(`YUV4MPEG2 W${width} H${height} F10:1 Ip A1:1 C420jpeg\n`);
  const frames = [...new Array<Buffer>(20).fill(frame), ...new Array<Buffer>(10 * goneS).fill(blank)];
  return Buffer.concat([head, ...frames]);
}
