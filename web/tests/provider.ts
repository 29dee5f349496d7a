/** A real OpenID provider for a test (crates/testkit/oidc), whose people are whoever they say. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";

const HOME = path.resolve(import.meta.dirname, "../../crates/testkit/oidc");
const SECRET = "a secret of the client";

/** Whether it is installed; without it a test says so, and fails under CI. */
export function isInstalled(): boolean {
  const there = existsSync(path.join(HOME, "node_modules/oidc-provider/package.json"));
  if (!there && process.env.CI)
    throw new Error("oidc-provider is missing: scripts/need.sh npm oidc-provider");
  return there;
}

/** Below the range of outgoing connections' ports, as in crates/testkit/src/free_port.rs, which says why. */
const [FIRST_PORT, LAST_PORT] = [10_240, 32_767];
/** How often a provider is started whose port somebody else took meanwhile. */
const STARTS = 5;

/** A port that nobody listens on just now; whoever listens there must be ready to find it taken. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT + 1));
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

export class Provider {
  readonly issuer: string;
  readonly #dir: string;
  readonly #process: ChildProcess;

  private constructor(issuer: string, dir: string, process: ChildProcess) {
    this.issuer = issuer;
    this.#dir = dir;
    this.#process = process;
  }

  /** Starts one with these people, which sends them back to the server at `url`. */
  static async start(url: string, people: Record<string, unknown>): Promise<Provider> {
    const dir = await mkdtemp(path.join(tmpdir(), "onrush-provider-"));
    for (let starts = 1; ; starts += 1) {
      const begun = await Provider.#begin(url, people, dir);
      if (begun instanceof Provider) return begun;
      if (starts === STARTS) throw begun;
    }
  }

  /** Starts one on a port that was free; or says why it ended: the port was taken meanwhile, most likely. */
  static async #begin(url: string, people: Record<string, unknown>, dir: string): Promise<Provider | Error> {
    const port = await freePort();
    const issuer = `http://127.0.0.1:${port}`;
    const client = {
      client_id: "onrush",
      client_secret: SECRET,
      redirect_uris: [`${url}/api/v1/session/oidc/callback`],
      post_logout_redirect_uris: [`${url}/admin`],
      response_types: ["code"],
      grant_types: ["authorization_code"],
    };
    const settings = { issuer, port, keys: path.join(dir, "keys.json"), clients: [client], people };
    const file = path.join(dir, "settings.json");
    await writeFile(file, JSON.stringify({ ...settings, claims: "userinfo" }));
    const child = spawn("node", [path.join(HOME, "provider.js"), file], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    return new Promise<Provider | Error>((resolve) => {
      const listens = () => resolve(new Provider(issuer, dir, child));
      createInterface(child.stdout).on("line", (line) => line === "provider listens" && listens());
      child.once("exit", (code) => resolve(new Error(`the provider ended with ${code}`)));
    });
  }

  /** The variables that have a server sign people in here. */
  settings(groups: Record<string, string>): Record<string, string> {
    const all: Record<string, string> = {
      ONRUSH_OIDC__NAME: "Hall of Ours",
      ONRUSH_OIDC__ISSUER: this.issuer,
      ONRUSH_OIDC__CLIENT_ID: "onrush",
      ONRUSH_OIDC__CLIENT_SECRET: SECRET,
      ONRUSH_OIDC__SCOPES: "openid,profile,groups",
    };
    for (const [at, [name, scopes]] of Object.entries(groups).entries()) {
      all[`ONRUSH_OIDC__GROUPS__${at}__NAME`] = name;
      all[`ONRUSH_OIDC__GROUPS__${at}__SCOPES`] = scopes;
    }
    return all;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    if (this.#process.exitCode === null && this.#process.kill("SIGTERM")) await ended;
    await rm(this.#dir, { recursive: true, force: true });
  }
}
