// An OpenID provider for tests: the real protocol, and people without passwords.
// Usage: node provider.js SETTINGS
// SETTINGS is a file in JSON: issuer, port, keys (a file for its signing keys, drawn if there is none),
// clients, people (their claims by name), claims ("id_token" or "userinfo": where they are told), logins (how people
// sign in, by name: acr, amr, age_s), acr_values and, for https, cert and key.
import { createPrivateKey, generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import Provider from "oidc-provider";

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));

function signingKeys(file) {
  if (!existsSync(file)) {
    // As a text first: Node 20 may wait for itself for ever if it collects its garbage while a key that was just
    // drawn is exported.
    const { privateKey: pem } = generateKeyPairSync("rsa", {
      modulusLength: 2048,
      publicKeyEncoding: { type: "spki", format: "pem" },
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
    });
    const jwk = createPrivateKey(pem).export({ format: "jwk" });
    const key = { ...jwk, kid: randomUUID(), use: "sig", alg: "RS256" };
    writeFileSync(file, JSON.stringify({ keys: [key] }));
  }
  return JSON.parse(readFileSync(file, "utf8"));
}

const provider = new Provider(settings.issuer, {
  clients: settings.clients,
  jwks: signingKeys(settings.keys),
  cookies: { keys: [randomBytes(32).toString("hex")] },
  scopes: ["openid", "profile", "email", "groups"],
  claims: {
    openid: ["sub"],
    profile: ["name", "preferred_username"],
    email: ["email", "email_verified"],
    groups: ["groups"],
    amr: null,
  },
  acrValues: settings.acr_values ?? [],
  conformIdTokenClaims: settings.claims === "userinfo",
  pkce: { required: () => true },
  features: {
    devInteractions: { enabled: false },
    claimsParameter: { enabled: true },
    rpInitiatedLogout: {
      enabled: true,
      // The page on which people say that they want to be signed out.
      logoutSource(ctx, form) {
        ctx.body =
          `<!doctype html><html lang="en"><title>Provider</title><h1>Provider</h1>${form}` +
          `<button form="op.logoutForm" name="logout" value="yes">Sign out there</button></html>`;
      },
    },
  },
  interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
  findAccount(_, id) {
    const claims = settings.people[id];
    // `sub` is the name spelt backwards: whoever takes one for the other is found out.
    const sub = [...id].reverse().join("");
    return claims && { accountId: id, claims: () => ({ sub, ...claims }) };
  },
  // Nobody is asked what a client may know.
  async loadExistingGrant(ctx) {
    const { client, session, params } = ctx.oidc;
    const grant = new provider.Grant({ clientId: client.clientId, accountId: session.accountId });
    grant.addOIDCScope(params.scope);
    await grant.save();
    return grant;
  },
});

function loginOf(accountId) {
  const { acr, amr, age_s = 0 } = settings.logins?.[accountId] ?? {};
  return { accountId, acr, amr, ts: Math.floor(Date.now() / 1000) - age_s, remember: false };
}

async function formOf(request) {
  let text = "";
  for await (const part of request) text += part;
  return new URLSearchParams(text);
}

// The page on which people say who they are: it takes their word for it.
provider.use(async (ctx, next) => {
  if (!ctx.path.startsWith("/interaction/")) return next();
  if (ctx.method === "GET") {
    ctx.type = "html";
    ctx.body =
      `<!doctype html><html lang="en"><title>Provider</title><h1>Provider</h1><form method="post">` +
      `<label>Name <input name="name"></label><button name="do" value="in">Continue</button>` +
      `<button name="do" value="cancel">Cancel</button></form></html>`;
    return undefined;
  }
  const form = await formOf(ctx.req);
  const result =
    form.get("do") === "cancel"
      ? { error: "access_denied", error_description: "<b>whoever it was went away</b>" }
      : { login: loginOf(form.get("name")) };
  ctx.respond = false;
  return provider.interactionFinished(ctx.req, ctx.res, result, { mergeWithLastSubmission: false });
});

const tls = settings.cert && { cert: readFileSync(settings.cert), key: readFileSync(settings.key) };
const server = tls ? https.createServer(tls, provider.callback()) : http.createServer(provider.callback());
server.on("error", (error) => {
  console.error(`cannot listen: ${error.message}`);
  process.exit(1);
});
server.listen(settings.port, "127.0.0.1", () => console.log("provider listens"));
