/** A real server for a test: on a free port, in a directory of its own, gone afterwards. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const ROOT = path.resolve(import.meta.dirname, "../..");
/** The program under test: `cargo test` and `cargo build` leave it there. */
export const PROGRAM = process.env.ONRUSH_PROGRAM ?? path.join(targetDir(), "debug/onrush");
export const ADMIN_KEY = "an-admin-key-for-tests";
export const SCANNER_KEY = "a-scanner-key-for-tests";
/** Settings with two more keys, for `ONRUSH_CONFIG`: one may `read` and `sell`, the other `read`. */
export const KEYS = path.join(import.meta.dirname, "keys.toml");
export const BOX_OFFICE_KEY = "a-box-office-key-for-tests";
export const SCREEN_KEY = "a-screen-key-for-tests";

function targetDir(): string {
  return execFileSync(path.join(ROOT, "scripts/target_dir.sh"), { encoding: "utf8" }).trimEnd();
}

/** The sandbox's cards; docs/design/gateways.md has them all. */
export const CARDS = {
  good: "4242424242424242",
  declined: "4000000000000010",
  late: "4000000000000100",
  unknown: "4000000000000120",
};

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- a test knows what it asked for
type Json = any;

export interface Answer {
  status: number;
  body: Json;
}

export class Server {
  readonly url: string;
  readonly dir: string;
  readonly #process: ChildProcess;

  private constructor(url: string, dir: string, process: ChildProcess) {
    this.url = url;
    this.dir = dir;
    this.#process = process;
  }

  /**
   * Starts one with the pages in `web/dist`; `settings` are variables such as `ONRUSH_VISITORS_PER_MIN`,
   * `listen` is for those who have to know the address before.
   */
  static async start(settings: Record<string, string> = {}, listen = "127.0.0.1:0"): Promise<Server> {
    const dir = await mkdtemp(path.join(tmpdir(), "onrush-pages-"));
    const args = ["serve", "--json", "--stop-with-input", "--log", "error"];
    args.push("--listen", listen, "--operator-listen", "off", "--data", path.join(dir, "data"));
    const child = spawn(PROGRAM, args, {
      env: {
        ...process.env,
        ONRUSH_ADMIN_KEY: ADMIN_KEY,
        ONRUSH_SCANNER_KEY: SCANNER_KEY,
        ONRUSH_GATEWAY: "sandbox",
        ONRUSH_PAGES: path.join(ROOT, "web/dist"),
        ONRUSH_VISITORS_PER_MIN: "100000",
        ONRUSH_LIMITS: "off",
        ONRUSH_SHED_AFTER_MS: "0",
        ...settings,
      },
      stdio: ["pipe", "pipe", "inherit"],
    });
    const ready = await new Promise<{ listen: string }>((resolve, reject) => {
      createInterface(child.stdout).once("line", (line) => resolve(JSON.parse(line)));
      child.once("error", reject);
      child.once("exit", (code) => reject(new Error(`the server ended with ${code}`)));
    });
    return new Server(`http://${ready.listen}`, dir, child);
  }

  /** Asks the API. */
  async ask(
    method: string,
    to: string,
    wish: { token?: string; key?: string; body?: unknown } = {},
  ): Promise<Answer> {
    const headers: Record<string, string> = {};
    if (wish.token) headers.authorization = `Bearer ${wish.token}`;
    if (wish.key) headers["idempotency-key"] = wish.key;
    if (wish.body !== undefined) headers["content-type"] = "application/json";
    const body = wish.body === undefined ? undefined : JSON.stringify(wish.body);
    const response = await fetch(`${this.url}/api/v1${to}`, { method, headers, body });
    const text = await response.text();
    return { status: response.status, body: text.startsWith("{") ? JSON.parse(text) : text };
  }

  /** Does what an organiser does; anything but success is a mistake in the test. */
  async organise(method: string, to: string, body: unknown = {}): Promise<Json> {
    const answer = await this.ask(method, `/admin${to}`, { token: ADMIN_KEY, body });
    if (answer.status >= 300) throw new Error(`${method} ${to}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  /** Another visitor's token. */
  async visitor(): Promise<string> {
    return (await this.ask("POST", "/visitors")).body.token;
  }

  /** Runs `onrush audit` on this server's data: what it prints, as a value. */
  async audit(): Promise<Json> {
    const child = spawn(PROGRAM, ["audit", "--json", "--data", path.join(this.dir, "data")]);
    let text = "";
    for await (const part of child.stdout) text += part;
    return JSON.parse(text);
  }

  /** Stops without notice, as a power cut does; {@link Server.stop} is still needed. */
  kill(): void {
    this.#process.kill("SIGKILL");
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      // The server stops with its input.
      this.#process.stdin!.end();
      await ended;
    }
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** An event that is on sale now, with these settings over the ordinary ones. */
export async function openEvent(
  server: Server,
  event: string,
  wish: {
    settings?: Record<string, unknown>;
    pools?: { pool: string; capacity: number; price_minor: number }[];
    plan?: unknown;
    prices?: Record<string, number>;
    phase?: "scheduled" | "prequeue" | "open";
  } = {},
): Promise<void> {
  await server.organise("POST", "/events", {
    event,
    title: `Event ${event}`,
    currency: "EUR",
    ...wish.settings,
  });
  for (const pool of wish.pools ?? []) await server.organise("POST", `/events/${event}/pools`, pool);
  if (wish.plan) {
    await server.organise("PUT", `/events/${event}/seat-map`, { plan: wish.plan, prices: wish.prices });
  }
  const phase = wish.phase ?? "open";
  if (phase === "prequeue") await server.organise("POST", `/events/${event}/prequeue`);
  if (phase === "open") await server.organise("POST", `/events/${event}/open`);
}

/** A small house: `rows` rows of `seats` seats in one category, as a pretix seating plan. */
export function smallPlan(rows: number, seats: number, category = "Stalls"): unknown {
  return {
    name: "House",
    categories: [{ name: category, color: "#3366cc" }],
    zones: [
      {
        name: "Stalls",
        position: { x: 0, y: 0 },
        rows: Array.from({ length: rows }, (_, row) => ({
          row_number: String.fromCharCode(65 + row),
          position: { x: 0, y: 30 * row },
          seats: Array.from({ length: seats }, (_, seat) => ({
            seat_number: String(seat + 1),
            seat_guid: `${String.fromCharCode(65 + row)}-${seat + 1}`,
            position: { x: 25 * seat, y: 0 },
            category,
          })),
        })),
      },
    ],
    size: { width: 25 * seats + 25, height: 30 * rows + 30 },
  };
}
