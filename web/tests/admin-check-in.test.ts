import type { Browser, Route } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sell, signIn, ticketCode } from "./admin";
import { launch, PHONE, violations, visit } from "./browser";
import { buy, holdAnswers, openDoor, typeIn } from "./door";
import { openEvent, SCANNER_KEY, Server } from "./server";

let server: Server;
let browser: Browser;

beforeAll(async () => {
  [server, browser] = await Promise.all([Server.start(), launch()]);
  await openDoor(server);
  await openEvent(server, "other-door", {
    settings: { room: null },
    pools: [{ pool: "ga", capacity: 20, price_minor: 4_500 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
});

test("typed code lets in once and names the seat; the second time says when it was used", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["A-1"] }));
  const { page, complaints, close } = await visit(browser, PHONE);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await page.getByText("Stalls · A · 1").first().waitFor();
  expect(await violations(page)).toEqual([]);
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  await page.getByText("Somebody came in with this ticket").waitFor();
  expect(await violations(page)).toEqual([]);
  const last = page.getByRole("listitem").filter({ hasText: "Stalls · A · 1" });
  await last.getByText("Welcome").waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("buyer's name is shown at the door", async () => {
  const held = await buy(browser, server, "door", { seats: ["A-2"] }, "Ann Lee");
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await typeIn(page, await ticketCode(server, held));
  await page.getByText("Ann Lee").waitFor();
  await close();
});

test("ticket that is void, of another event or no ticket at all is refused in words", async () => {
  const sold = await sell(server, "door", { seats: ["A-3"] });
  const code = await ticketCode(server, sold);
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in");
  await typeIn(page, "not-a-ticket");
  await page.getByText("This is not one of our tickets").waitFor();
  await page.getByLabel("Tickets for").selectOption("Event other-door");
  await typeIn(page, code);
  // The answer before reads the same: the second is there when the first has gone into the list.
  await page.locator("ol > li").waitFor();
  await page.getByText("This ticket is for another event").waitFor();
  await page.getByLabel("Tickets for").selectOption("All events");
  await server.organise("POST", `/events/door/bookings/${sold.booking}/cancel`, { by: "Ann", why: "ill" });
  await typeIn(page, code);
  await page.getByText("The booking was cancelled: the ticket is void.").waitFor();
  await close();
});

test("code that nobody signed takes the welcome before it away, whatever it says", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await typeIn(page, code);
  await page.locator(".result section.in").waitFor();
  // No text can be made of it.
  const mute = { toString: 0, valueOf: 0 };
  const made: [claims: unknown, units: string[]][] = [
    [{ for: { pool: mute } }, []],
    [{ aud: mute, for: { seat: mute } }, []],
    // Half a letter, which no address takes.
    [{ aud: "\ud800", for: { seat: "A-1" } }, ["A-1"]],
    [{ aud: "door", for: { pool: "ga ".repeat(500) } }, []],
    [null, []],
  ];
  for (const [before, [claims, units]] of made.entries()) {
    await typeIn(page, unsigned(claims));
    // It is shown when the one before it has gone into the list.
    await expect.poll(() => page.locator("ol > li").count()).toBe(before + 1);
    expect(await page.locator(".result h2").innerText()).toBe("Not valid");
    expect(await page.locator(".result .unit").allInnerTexts()).toEqual(units);
  }
  expect(complaints).toEqual([]);
  await close();
});

/** A code that says this, and is no ticket. */
function unsigned(claims: unknown): string {
  return `x.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.x`;
}

test("answer that cannot be shown takes the welcome before it away, and harms none after it", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await typeIn(page, codes[0]!);
  await page.locator(".result section.in").waitFor();
  // Nothing is known that the server says and the page cannot show: so it says what it never does.
  await page.route("**/api/v1/check-in", async (route) => {
    const told = await (await route.fetch()).json();
    await route.fulfill({ json: { ...told, name: { toString: 0, valueOf: 0 } } });
  });
  await typeIn(page, codes[1]!);
  await page.locator(".result").getByText("What came of this ticket cannot be shown here").waitFor();
  expect(await page.locator(".result h2").allInnerTexts()).toEqual(["Not known"]);
  expect(await page.locator(".result section.in").count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.unroute("**/api/v1/check-in");
  await typeIn(page, codes[2]!);
  await page.locator(".result section.in").waitFor();
  expect(await page.locator("ol > li").count()).toBe(2);
  await close();
});

test("code typed while the answer before is under way stays in its field", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  const answer = await holdAnswers(page);
  await typeIn(page, code);
  await page.getByLabel("Ticket code").fill("the-next-one");
  answer();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  expect(await page.getByLabel("Ticket code").inputValue()).toBe("the-next-one");
  await close();
});

test("hand scanner that does not wait for an answer loses no ticket", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  let answer = () => {};
  const held = new Promise<void>((resolve) => (answer = resolve));
  const asked: string[] = [];
  await page.route("**/api/v1/check-in", async (route) => {
    asked.push(route.request().postDataJSON().code);
    await held;
    await route.continue();
  });
  const field = page.getByLabel("Ticket code");
  // The second of them is scanned twice while nobody answers.
  for (const code of [codes[0]!, codes[1]!, codes[1]!]) {
    await field.fill(code);
    await field.press("Enter");
    expect(await field.inputValue()).toBe("");
  }
  answer();
  await page.getByRole("heading", { name: "The same ticket" }).waitFor();
  expect(await page.getByRole("listitem").filter({ hasText: "Welcome" }).count()).toBe(2);
  expect(asked).toEqual(codes);
  await close();
});

test("green of a ticket goes while the next one that was typed in is asked about", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await typeIn(page, codes[0]!);
  await page.locator(".result section.in:not(.gone)").waitFor();
  const answer = await holdAnswers(page);
  await typeIn(page, codes[1]!);
  await page.locator(".result section.in.gone").waitFor();
  answer();
  await page.locator("ol > li").waitFor();
  await page.locator(".result section.in:not(.gone)").waitFor();
  await close();
});

test("code that is scanned twice before its answer lets in one person, and says so", async () => {
  const code = await ticketCode(server, await sell(server, "door", { seats: ["A-4"] }));
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  const answer = await holdAnswers(page);
  await typeIn(page, code);
  await typeIn(page, code);
  answer();
  const result = page.locator(".result section");
  await result.getByRole("heading", { name: "The same ticket" }).waitFor();
  await result
    .getByText(/^Let in at .*: one person\. It was shown twice .* look who showed it first\.$/)
    .waitFor();
  // The one before them is in.
  expect(await page.getByRole("listitem").filter({ hasText: "Welcome" }).count()).toBe(1);
  expect(complaints).toEqual([]);
  await close();
});

test("code scanned twice before its answer got lost is said to be that when asked again", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  let lose = () => {};
  const held = new Promise<void>((resolve) => (lose = resolve));
  await page.route("**/api/v1/check-in", async (route) => {
    await held;
    await route.fetch();
    await route.abort();
  });
  await typeIn(page, code);
  await typeIn(page, code);
  lose();
  const again = page.getByRole("button", { name: "Ask again" });
  await again.waitFor();
  await again.click();
  // No answer came to that either: it is shown when the one before it has gone into the list.
  await page.locator("ol > li").waitFor();
  await page.unroute("**/api/v1/check-in");
  const result = page.locator(".result section");
  // A refusal, as where another event is chosen by mistake, says nothing of the try before.
  await page.route("**/api/v1/check-in", (route) => route.fulfill(OTHER_EVENT), { times: 1 });
  await again.click();
  await result.getByRole("heading", { name: "Not valid" }).waitFor();
  await typeIn(page, code);
  await result.getByRole("heading", { name: "The same ticket" }).waitFor();
  await result.getByText(/^Let in at .*: one person\. It was shown twice .*\.$/).waitFor();
  expect(await page.getByRole("listitem").filter({ hasText: "Welcome" }).count()).toBe(1);
  // What came of it is known now, and is said of whoever shows it next.
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

/** An answer of the server that is no admission. */
function problem(status: number, code: string, retryable: boolean) {
  return {
    status,
    contentType: "application/problem+json",
    body: JSON.stringify({ code, status, title: code, detail: `it says ${code}`, retryable }),
  };
}

const OTHER_EVENT = problem(409, "TICKET_FOR_ANOTHER_EVENT", false);

/** What the server says that was told to stop while it decided. */
const STOPPED = problem(503, "STOPPED", true);

test.each([
  ["lost", (route: Route) => route.abort()],
  ["that leaves it open", (route: Route) => route.fulfill(STOPPED)],
])("answer %s is not known; asked again, it is this device's own admission", async (_, answer) => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/api/v1/check-in", async (route) => {
    // The server hears it; the device does not hear the server.
    await route.fetch();
    await answer(route);
  });
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/api/v1/check-in");
  await page.getByRole("button", { name: "Ask again" }).dblclick();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  expect(await page.getByText("Used already").count()).toBe(0);
  await page.getByText("by this device, whose first answer got lost").waitFor();
  await close();
});

test("answer that got lost is this device's own admission after a reload, too", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/api/v1/check-in", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/api/v1/check-in");
  await page.reload();
  await typeIn(page, code);
  await page.locator(".result section.in").waitFor();
  await page.getByText("by this device, whose first answer got lost").waitFor();
  // Now it is known: whoever shows a copy is not let in by the same key.
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test("answer that got lost hours ago lets in nobody who shows the ticket now", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, complaints, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/api/v1/check-in", async (route) => {
    await route.fetch();
    await route.abort();
  });
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/api/v1/check-in");
  // The server knows the try by its key whenever it comes again.
  await page.route("**/api/v1/check-in", async (route) => {
    const told = await (await route.fetch()).json();
    await route.fulfill({ json: { ...told, checked_in_at: told.checked_in_at - 2 * 3_600_000 } });
  });
  await typeIn(page, code);
  const result = page.locator(".result section");
  await result.getByRole("heading", { name: "Let in earlier" }).waitFor();
  await result
    .getByText(/^Let in by this device: .* only whoever showed the ticket then comes in\.$/)
    .waitFor();
  expect(await page.locator(".result section.in").count()).toBe(0);
  expect(await violations(page)).toEqual([]);
  await page.unroute("**/api/v1/check-in");
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test.each([
  [503, "EVENT_REBUILDING"],
  [429, "TOO_MANY_CONNECTIONS"],
])("answer %i %s says nothing of the ticket, which is let in when asked again", async (status, code) => {
  const ticket = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.route("**/api/v1/check-in", (route) => route.fulfill(problem(status, code, true)));
  await typeIn(page, ticket);
  await page.locator(".result h2").waitFor();
  expect(await page.locator(".result h2").innerText()).toBe("Not known");
  expect(await page.getByText("Not valid").count()).toBe(0);
  await page.unroute("**/api/v1/check-in");
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await close();
});

test("key without the right to let in is trouble, and says nothing of the ticket", async () => {
  const codes: string[] = [];
  for (const pools of [{ ga: 1 }, { ga: 1 }]) {
    codes.push(await ticketCode(server, await sell(server, "door", { pools })));
  }
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await typeIn(page, codes[0]!);
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await page.route("**/api/v1/check-in", (route) => route.fulfill(problem(403, "SCOPE_MISSING", false)));
  await typeIn(page, codes[1]!);
  await page.getByRole("alert").waitFor();
  expect(await page.getByText("Not valid").count()).toBe(0);
  // Nor is the ticket before taken for this one.
  expect(await page.getByRole("heading", { name: "Welcome" }).count()).toBe(0);
  await page.unroute("**/api/v1/check-in");
  await typeIn(page, codes[1]!);
  await page.getByRole("heading", { name: "Welcome" }).waitFor();
  await close();
});

test("event remembered from another day that is gone leaves all events to choose from", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await page.addInitScript(() => localStorage.setItem("onrush.check-in.event", "gone"));
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.getByRole("option", { name: "Event other-door" }).waitFor({ state: "attached" });
  expect(await page.getByLabel("Tickets for").inputValue()).toBe("");
  await typeIn(page, code);
  await page.locator(".result h2").waitFor();
  expect(await page.locator(".result h2").innerText()).toBe("Welcome");
  await close();
});

test("event on the second page of the list can be chosen, and stays chosen", async () => {
  const { page, close } = await visit(browser);
  await page.addInitScript(() => localStorage.setItem("onrush.check-in.event", "other-door"));
  // A server of so many events that the list comes in pages.
  await page.route(/\/api\/v1\/events\?/, async (route) => {
    const all = (await (await route.fetch()).json()).events as { event: string }[];
    const isSecond = new URL(route.request().url()).searchParams.has("after");
    const events = all.filter(({ event }) => (event === "other-door") === isSecond);
    await route.fulfill({ json: { events, ...(!isSecond && { next: "door" }) } });
  });
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  await page.getByRole("option", { name: "Event other-door" }).waitFor({ state: "attached" });
  expect(await page.getByLabel("Tickets for").inputValue()).toBe("other-door");
  await close();
});

test("ticket that was used elsewhere after a request that got lost is used", async () => {
  const code = await ticketCode(server, await sell(server, "door", { pools: { ga: 1 } }));
  const { page, close } = await visit(browser);
  await signIn(page, server, "/admin/check-in", SCANNER_KEY);
  // At this very moment somebody shows a copy at another gate.
  await page.route("**/api/v1/check-in", (route) => route.abort());
  await typeIn(page, code);
  await page.getByRole("heading", { name: "Not known" }).waitFor();
  await page.unroute("**/api/v1/check-in");
  const used = await server.ask("POST", "/check-in", { token: SCANNER_KEY, body: { code } });
  expect(used.status).toBe(200);
  await page.getByRole("button", { name: "Ask again" }).click();
  await page.getByRole("heading", { name: "Used already" }).waitFor();
  await close();
});
