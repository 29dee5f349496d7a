import { svelte } from "@sveltejs/vite-plugin-svelte";
import { promises as fs } from "node:fs";
import path from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Text is kept compressed only: the server unpacks it for the rare client that takes neither encoding. */
function compress(): Plugin {
  let outDir = "";
  return {
    name: "compress",
    apply: "build",
    configResolved(config) {
      outDir = path.resolve(config.root, config.build.outDir);
    },
    async closeBundle() {
      for (const entry of await fs.readdir(outDir, { recursive: true, withFileTypes: true })) {
        const file = path.join(entry.parentPath, entry.name);
        if (!entry.isFile() || !/\.(html|js|css|json|svg|webmanifest)$/.test(entry.name)) continue;
        const text = await fs.readFile(file);
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        await fs.writeFile(`${file}.br`, brotliCompressSync(text, { params }));
        await fs.writeFile(`${file}.gz`, gzipSync(text, { level: 9 }));
        await fs.rm(file);
      }
    },
  };
}

/** While pages are worked on, `npm run dev` passes what is not a page on to a server at ONRUSH_URL. */
const server = process.env.ONRUSH_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  plugins: [svelte(), compress()],
  appType: "mpa",
  build: {
    target: "es2022",
    // Styles in attributes and inlined files would need holes in the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: { input: ["index.html", "admin.html"] },
  },
  server: { proxy: { "/api": { target: server, ws: true } } },
});
