import { createHmac } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { forgetful, launch, violations, type Visit } from "./browser";
import { fillIn, heading, holdAndVisit } from "./checkout";
import { openEvent, Server } from "./server";

const WEBHOOK_SECRET = "whsec_for_tests_only";

interface Intent {
  id: string;
  object: "payment_intent";
  status: string;
  amount: number;
  amount_received: number;
  currency: string | null;
  client_secret: string;
  metadata: Record<string, string>;
  last_payment_error?: { code: string };
}

/** As much of Stripe's API as one payment needs. */
class FakeStripe {
  readonly intents = new Map<string, Intent>();
  readonly #http: HttpServer;

  constructor() {
    this.#http = createServer((request, response) => {
      let body = "";
      request.on("data", (part) => (body += part));
      request.on("end", () => {
        const intent = this.#answer(request.method!, request.url!, new URLSearchParams(body));
        response.writeHead(intent ? 200 : 404, { "content-type": "application/json" });
        response.end(JSON.stringify(intent ?? { error: { type: "invalid_request_error" } }));
      });
    });
  }

  #answer(method: string, url: string, form: URLSearchParams): unknown {
    const [, id, action] = /^\/v1\/payment_intents(?:\/(\w+))?(?:\/(\w+))?/.exec(url) ?? [];
    if (id === undefined && method === "POST") {
      const name = `pi_${this.intents.size + 1}`;
      const metadata = Object.fromEntries(
        [...form].flatMap(([key, value]) => {
          const inner = /^metadata\[(\w+)\]$/.exec(key)?.[1];
          return inner ? [[inner, value]] : [];
        }),
      );
      const intent: Intent = {
        id: name,
        object: "payment_intent",
        status: "requires_payment_method",
        amount: Number(form.get("amount")),
        amount_received: 0,
        currency: form.get("currency"),
        client_secret: `${name}_secret_x`,
        metadata,
      };
      this.intents.set(name, intent);
      return intent;
    }
    const intent = this.intents.get(id ?? "");
    if (intent && action === "cancel" && intent.status !== "succeeded") intent.status = "canceled";
    return intent;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#http.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  /** Takes the money. */
  async capture(server: Server, id: string): Promise<void> {
    const intent = this.intents.get(id)!;
    intent.status = "succeeded";
    intent.amount_received = intent.amount;
    await this.#tell(server, "payment_intent.succeeded", intent);
  }

  /** Takes none, as the bank says no. */
  async decline(server: Server, id: string): Promise<void> {
    const intent = this.intents.get(id)!;
    intent.last_payment_error = { code: "card_declined" };
    await this.#tell(server, "payment_intent.payment_failed", intent);
  }

  /** Tells the server by a signed message. */
  async #tell(server: Server, type: string, intent: Intent): Promise<void> {
    const body = JSON.stringify({ id: "evt_1", type, data: { object: intent } });
    const seconds = Math.floor(Date.now() / 1_000);
    const mac = createHmac("sha256", WEBHOOK_SECRET).update(`${seconds}.${body}`).digest("hex");
    const answer = await fetch(`${server.url}/api/v1/payments/webhook/stripe`, {
      method: "POST",
      headers: { "content-type": "application/json", "stripe-signature": `t=${seconds},v1=${mac}` },
      body,
    });
    expect(answer.status, await answer.text()).toBe(200);
  }

  async stop(): Promise<void> {
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }
}

/**
 * What stands in for Stripe.js: a form of one field, and a record of what it was given. A bank, or whoever
 * asks for it, leads to the address to come back to, with what is told there before its fragment.
 */
const STRIPE_JS = `
window.stripeSaw = {};
window.Stripe = (key) => {
  window.stripeSaw.key = key;
  return {
    elements(wish) {
      window.stripeSaw.secret = wish.clientSecret;
      return { create: () => ({ mount(place) {
        const label = document.createElement("label");
        label.textContent = "Card";
        const input = document.createElement("input");
        label.append(input);
        place.append(label);
      } }) };
    },
    async confirmPayment(wish) {
      window.stripeSaw.back = wish.confirmParams.return_url;
      const card = document.querySelector("label > input").value;
      if (card === "") return { error: { message: "Your card number is incomplete." } };
      const id = window.stripeSaw.secret.split("_secret")[0];
      if (wish.redirect === "if_required" && card !== "bank")
        return { paymentIntent: { id, status: "succeeded" } };
      const back = new URL(wish.confirmParams.return_url);
      back.search = "payment_intent=" + id + "&payment_intent_client_secret=x&redirect_status=succeeded";
      location.assign(back);
      return new Promise(() => {});
    },
  };
};`;

let dir: string;
let stripe: FakeStripe;
let server: Server;
let browser: Browser;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "onrush-stripe-"));
  stripe = new FakeStripe();
  const config = path.join(dir, "onrush.toml");
  const address = await stripe.start();
  await writeFile(
    config,
    `[stripe]\nsecret_key = "sk_test_for_tests_only"\nwebhook_secret = "${WEBHOOK_SECRET}"\n` +
      `base_url = "${address}"\n`,
  );
  const settings = { ONRUSH_CONFIG: config, ONRUSH_GATEWAY: "stripe" };
  [server, browser] = await Promise.all([Server.start(settings), launch()]);
  await openEvent(server, "show", {
    settings: { title: "The show", room: null },
    pools: [{ pool: "standing", capacity: 100, price_minor: 3_000 }],
  });
});

afterAll(async () => {
  await browser?.close();
  await server?.stop();
  await stripe?.stop();
  await rm(dir, { recursive: true, force: true });
});

/** Serves the stand-in for Stripe.js. */
async function withStripeJs(page: Page): Promise<void> {
  await page.route("https://js.stripe.com/v3/", (route) =>
    route.fulfill({ contentType: "text/javascript", body: STRIPE_JS }),
  );
  await page.route("**/api/v1/bookings/*/payment", async (route) => {
    const response = await route.fetch();
    const payment = await response.json();
    if (payment.client_secret) payment.publishable_key = "pk_test_x";
    await route.fulfill({ response, json: payment });
  });
}

test("with Stripe its form is on the page, says what is wrong, and leads back to the booking", async () => {
  const { page, booking, complaints, close } = await holdAndVisit(browser, server, "show", {
    pools: { standing: 1 },
  });
  await withStripeJs(page);
  await fillIn(page);
  expect(await page.locator('script[src*="stripe"]').count()).toBe(0);
  await page.getByRole("button", { name: "Pay €30.00" }).click();
  await heading(page, "Your payment is under way");
  const now = page.getByRole("button", { name: "Pay now" });
  await now.click();
  await page.getByText("Your card number is incomplete.").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByLabel("Card").fill("4242424242424242");
  const saw = await page.evaluate(() => (window as unknown as { stripeSaw: unknown }).stripeSaw);
  const back = `${server.url}/bookings/${booking}`;
  expect(saw).toEqual({ key: "pk_test_x", secret: "pi_1_secret_x", back });
  await stripe.capture(server, "pi_1");
  await heading(page, "Your booking is confirmed");
  expect(complaints).toEqual([]);
  await close();
});

test("Stripe's form that cannot be loaded says so, and is tried again", async () => {
  const { page, close } = await holdAndVisit(browser, server, "show", { pools: { standing: 1 } });
  await page.route("https://js.stripe.com/v3/", (route) => route.abort());
  await fillIn(page);
  await page.route("**/api/v1/bookings/*/payment", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), publishable_key: "pk_test_x" } });
  });
  await page.getByRole("button", { name: "Pay €30.00" }).click();
  await page.getByText("The payment form cannot be loaded.").waitFor();
  await withStripeJs(page);
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByLabel("Card").fill("4242424242424242");
  await page.getByRole("button", { name: "Pay now" }).click();
  // Back here, the form does not ask again while Stripe's message is under way.
  await page.waitForURL(/\?payment_intent=pi_2&redirect_status=succeeded$/);
  await heading(page, "Your payment is under way");
  await page.getByText("We are waiting for the payment service.").waitFor();
  expect(await page.locator("form").count()).toBe(0);
  await stripe.capture(server, "pi_2");
  await heading(page, "Your booking is confirmed");
  await close();
});

/** Somebody in a browser that keeps nothing who has Stripe's form before them. */
async function payer(): Promise<Visit & { intent: string }> {
  const visited = await forgetful(browser);
  const { page } = visited;
  await withStripeJs(page);
  await page.goto(`${server.url}/events/show/choose`);
  await page.getByRole("button", { name: "More: Standing" }).click();
  await page.getByRole("button", { name: "Hold these" }).click();
  await heading(page, "Complete your booking");
  await fillIn(page);
  await page.getByRole("button", { name: "Pay €30.00" }).click();
  await page.getByLabel("Card").waitFor();
  return { ...visited, intent: [...stripe.intents.keys()].at(-1)! };
}

test("card pays where the browser keeps nothing, on the page that holds", async () => {
  const { page, intent, complaints, close } = await payer();
  let loads = 0;
  page.on("request", (request) => (loads += Number(request.isNavigationRequest())));
  await page.getByLabel("Card").fill("4242424242424242");
  await page.getByRole("button", { name: "Pay now" }).click();
  await page.getByText("We are waiting for the payment service.").waitFor();
  expect(await page.locator("form").count(), "nobody is asked twice").toBe(0);
  await stripe.capture(server, intent);
  await heading(page, "Your booking is confirmed");
  expect(loads).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test("who comes back from a bank has their booking where the browser keeps nothing", async () => {
  const { page, intent, complaints, close } = await payer();
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url() + (request.headers().referer ?? "")));
  await page.getByLabel("Card").fill("bank");
  const loads = page.waitForEvent("load");
  await page.getByRole("button", { name: "Pay now" }).click();
  await loads;
  await heading(page, "Your payment is under way");
  await page.waitForURL(/\/bookings\/[^/#?]+\?payment_intent=\w+&redirect_status=succeeded$/);
  expect(page.url(), "the link is not left in the address").not.toContain("#");
  expect(asked.filter((there) => there.includes("b1."))).toEqual([]);
  await stripe.capture(server, intent);
  await heading(page, "Your booking is confirmed");
  expect(complaints).toEqual([]);
  await close();
});

test("whom a bank declined gives back and chooses again where the browser keeps nothing", async () => {
  const { page, intent, complaints, close } = await payer();
  await page.getByLabel("Card").fill("bank");
  const loads = page.waitForEvent("load");
  await page.getByRole("button", { name: "Pay now" }).click();
  await loads;
  await heading(page, "Your payment is under way");
  await stripe.decline(server, intent);
  await heading(page, "Complete your booking");
  await page.getByText("this browser keeps nothing, so it cannot be paid for here").waitFor();
  expect(await page.getByText("go back to the browser it was made in").count()).toBe(0);
  expect(await page.getByText(/^You can try/).count(), "nobody can pay here").toBe(0);
  await page.getByRole("button", { name: "Give back" }).click();
  await page.getByRole("button", { name: "Yes, give back" }).click();
  await heading(page, "You gave these back");
  await page.getByRole("link", { name: "Choose again" }).click();
  await page.getByRole("button", { name: "More: Standing" }).waitFor();
  expect(complaints).toEqual([]);
  await close();
});
