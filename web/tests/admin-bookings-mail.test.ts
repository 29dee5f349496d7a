/** A buyer without a ticket: their address is corrected, and the confirmation sent again. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { createInterface } from "node:readline";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Action } from "../src/api/schema";
import { hold, loseFirstAnswer, signIn } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { ADMIN_KEY, BOX_OFFICE_KEY, KEYS, openEvent, Server } from "./server";

const MISTYPED = "ann@exmaple.example";
const RIGHT = "ann@post.example";

/** Whom mails came for, in their order. */
const mailed: string[] = [];
/** An SMTP server that takes every mail. */
const post = createServer((socket) => {
  const say = (line: string) => socket.write(`${line}\r\n`);
  let isMail = false;
  let to = "";
  socket.on("error", () => {});
  createInterface(socket).on("line", (line) => {
    if (isMail) {
      if (line !== ".") return;
      isMail = false;
      mailed.push(to);
      say("250 taken");
    } else if (line === "DATA") {
      isMail = true;
      say("354 go on");
    } else {
      to = /^RCPT TO:<(.*)>/.exec(line)?.[1] ?? to;
      say(line === "QUIT" ? "221 bye" : "250 ok");
    }
  });
  say("220 post.example");
});
let server: Server;
let browser: Browser;

beforeAll(async () => {
  post.listen(0, "127.0.0.1");
  await once(post, "listening");
  const settings = {
    ONRUSH_CONFIG: KEYS,
    ONRUSH_MAIL__SMTP: `127.0.0.1:${(post.address() as AddressInfo).port}`,
    ONRUSH_MAIL__TLS: "none",
    ONRUSH_MAIL__FROM: "Tickets <tickets@shop.example>",
  };
  [server, browser] = await Promise.all([Server.start(settings), launch()]);
  await openEvent(server, "tour", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 100, price_minor: 4_500 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  post.close();
});

/** A booking that was paid at the box office, whose buyer's address was mistyped; its mail has gone there. */
async function sold(): Promise<string> {
  const { booking } = await hold(server, "tour", { pools: { ga: 1 } });
  mailed.length = 0;
  await server.organise("POST", `/events/tour/bookings/${booking}/confirm`, {
    payment: `box-office-${booking.slice(-8)}`,
    buyer: { name: "Ann Lee", email: MISTYPED, language: "de" },
  });
  await expect.poll(() => mailed, { timeout: 20_000 }).toEqual([MISTYPED]);
  return booking;
}

test("buyer without a ticket is corrected, and gets the confirmation", async () => {
  const booking = await sold();
  const { page, complaints, close } = await visit(browser, PHONE);
  await signIn(page, server, `/admin/bookings/${booking}`);
  await page.getByText(MISTYPED).waitFor();
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Correct the buyer" }).click();
  expect(await dialog.getByLabel("Name").inputValue()).toBe("Ann Lee");
  // What they read is not changed by the way.
  expect(await dialog.getByLabel("Language").inputValue()).toBe("de");
  await dialog.getByLabel("Mail address").fill("ann@");
  await dialog.getByRole("button", { name: "Correct the buyer" }).click();
  // The browser itself says that it is no address; the dialog stays.
  await dialog.getByLabel("Mail address").fill(RIGHT);
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Correct the buyer" }).click();
  await page.getByText("The buyer is corrected.").waitFor();
  await page.getByText(RIGHT).waitFor();
  expect(await page.getByText(MISTYPED).count()).toBe(0);

  await page.getByRole("button", { name: "Send the confirmation again" }).click();
  await dialog.getByText(RIGHT).waitFor();
  expect(await violations(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Send the confirmation again" }).click();
  await page.getByText(`The confirmation is on its way to ${RIGHT}.`).waitFor();
  await expect.poll(() => mailed, { timeout: 20_000 }).toEqual([MISTYPED, RIGHT]);

  const { body } = await server.ask("GET", "/admin/actions?event=tour", { token: ADMIN_KEY });
  const done = body.actions.map(({ name, method, path, status }: Action) =>
    [name, method, path, status].join(" "),
  );
  const path = `/api/v1/admin/bookings/${booking}`;
  expect(done).toEqual(
    expect.arrayContaining([`admin PUT ${path}/buyer 200`, `admin POST ${path}/mail 202`]),
  );
  expect(complaints).toEqual([]);
  await close();
});

test("of two who correct a buyer, the later one is told of the other", async () => {
  const booking = await sold();
  const { page, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${booking}`);
  const dialog = page.getByRole("dialog");
  await page.getByRole("button", { name: "Correct the buyer" }).click();
  const right = { name: "Ann Lee", email: RIGHT, language: "en", was: MISTYPED };
  await server.organise("PUT", `/bookings/${booking}/buyer`, right);
  await dialog.getByLabel("Name").fill("Ann B. Lee");
  await dialog.getByRole("button", { name: "Correct the buyer" }).click();
  await dialog.getByText("The buyer was changed meanwhile.").waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByText(RIGHT).waitFor();

  // Who looks again corrects what there is now.
  await page.getByRole("button", { name: "Correct the buyer" }).click();
  await dialog.getByLabel("Name").fill("Ann B. Lee");
  await dialog.getByRole("button", { name: "Correct the buyer" }).click();
  await page.getByText("The buyer is corrected.").waitFor();
  await page.getByText("Ann B. Lee").waitFor();
  expect(await page.getByText(MISTYPED).count()).toBe(0);
  await close();
});

test("correction whose answer was lost is made again by the same request", async () => {
  const booking = await sold();
  const { page, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${booking}`);
  const asked = await loseFirstAnswer(page, `**/admin/bookings/${booking}/buyer`);
  await page.getByRole("button", { name: "Correct the buyer" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Mail address").fill(RIGHT);
  const correct = dialog.getByRole("button", { name: "Correct the buyer" });
  await correct.click();
  const doubt = dialog.getByRole("alert").filter({ hasText: "it is not known whether this was done" });
  await doubt.filter({ hasText: "nothing is done twice" }).waitFor();
  await correct.click();
  await page.getByText("The buyer is corrected.").waitFor();
  expect(asked).toHaveLength(2);
  expect(asked[1]!.body).toEqual(asked[0]!.body);
  await close();
});

test("confirmation whose answer was lost is sent once by another dialog, and after a reload", async () => {
  const booking = await sold();
  const { page, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${booking}`);
  const asked = await loseFirstAnswer(page, `**/admin/bookings/${booking}/mail`);
  const name = "Send the confirmation again";
  await page.getByRole("button", { name }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name }).click();
  const doubt = dialog.getByRole("alert").filter({ hasText: "it is not known whether this was done" });
  await doubt.filter({ hasText: "nothing is done twice" }).waitFor();
  await dialog.getByRole("button", { name: "Cancel" }).click();
  // What is kept for the next time names nobody.
  const kept = await page.evaluate(() => JSON.stringify(sessionStorage));
  expect([kept.includes(asked[0]!.key!), kept.includes(MISTYPED)]).toEqual([true, false]);
  await page.reload();
  await page.getByRole("button", { name }).click();
  await dialog.getByRole("button", { name }).click();
  await page.getByText("The confirmation is on its way").waitFor();
  expect(asked).toHaveLength(2);
  expect(asked[1]!.key).toBe(asked[0]!.key);

  // Another time it is another mail.
  await page.getByRole("button", { name }).click();
  await dialog.getByRole("button", { name }).click();
  await expect.poll(() => mailed.length, { timeout: 20_000 }).toBe(3);
  expect(asked[2]!.key).not.toBe(asked[0]!.key);
  await close();
});

test("confirmation that was refused for good is another one when it is asked for again", async () => {
  const booking = await sold();
  const { page, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${booking}`);
  const keys: (string | undefined)[] = [];
  const problem = (status: number, code: string, retryable: boolean) => ({
    status,
    contentType: "application/problem+json",
    body: JSON.stringify({ code, status, title: code, detail: code, retryable }),
  });
  const answers = [problem(503, "LEDGER_UNAVAILABLE", true), problem(409, "MAIL_OFF", false)];
  await page.route(`**/admin/bookings/${booking}/mail`, (route) => {
    keys.push(route.request().headers()["idempotency-key"]);
    const answer = answers[keys.length - 1];
    return answer ? route.fulfill(answer) : route.continue();
  });
  const name = "Send the confirmation again";
  await page.getByRole("button", { name }).click();
  const send = page.getByRole("dialog").getByRole("button", { name });
  for (const [before] of answers.entries()) {
    await send.click();
    await expect.poll(() => keys.length).toBe(before + 1);
    await expect.poll(() => send.isEnabled()).toBe(true);
  }
  await send.click();
  await page.getByText("The confirmation is on its way").waitFor();
  expect(keys).toHaveLength(3);
  expect(keys[1]).toBe(keys[0]);
  expect(keys[2]).not.toBe(keys[1]);
  // It would be counted among the next test's otherwise.
  await expect.poll(() => mailed, { timeout: 20_000 }).toEqual([MISTYPED, MISTYPED]);
  await close();
});

test("confirmation to an address that was corrected meanwhile is another one", async () => {
  const booking = await sold();
  const { page, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${booking}`);
  const asked = await loseFirstAnswer(page, `**/admin/bookings/${booking}/mail`);
  const name = "Send the confirmation again";
  await page.getByRole("button", { name }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(MISTYPED).waitFor();
  await dialog.getByRole("button", { name }).click();
  await dialog.getByRole("alert").waitFor();
  await expect.poll(() => mailed, { timeout: 20_000 }).toEqual([MISTYPED, MISTYPED]);
  const right = { name: "Ann Lee", email: RIGHT, language: "en", was: MISTYPED };
  await server.organise("PUT", `/bookings/${booking}/buyer`, right);
  await dialog.getByText(RIGHT).waitFor();
  await dialog.getByRole("button", { name }).click();
  await page.getByText(`The confirmation is on its way to ${RIGHT}.`).waitFor();
  expect(asked[1]!.key).not.toBe(asked[0]!.key);
  await expect.poll(() => mailed, { timeout: 20_000 }).toEqual([MISTYPED, MISTYPED, RIGHT]);
  await close();
});

test("box office is offered no mail that is not its own to send", async () => {
  const booking = await sold();
  const { page, close } = await visit(browser);
  await signIn(page, server, `/admin/bookings/${booking}`, BOX_OFFICE_KEY);
  await page.getByRole("button", { name: "Remove visitor" }).waitFor();
  for (const name of ["Correct the buyer", "Send the confirmation again"]) {
    expect(await page.getByRole("button", { name }).count()).toBe(0);
  }
  await close();
});
