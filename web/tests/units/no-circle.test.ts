import { Linter } from "eslint";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import noCircle from "../../lint/no-circle.js";

let dir: string;

beforeAll(async () => {
  dir = await mkdtemp(path.join(tmpdir(), "onrush-circles-"));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

/** What is said of the first of these files. */
async function complaints(files: Record<string, string>): Promise<string[]> {
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(dir, name), text);
  const [[name, text]] = Object.entries(files) as [[string, string]];
  const config: Linter.Config = {
    files: ["**/*.ts"],
    plugins: { onrush: { rules: { "no-circle": noCircle } } },
    rules: { "onrush/no-circle": "error" },
  };
  const found = new Linter({ cwd: dir }).verify(text, config, path.join(dir, name));
  return found.map(({ message }) => message);
}

test("circle through components and loaded pages is found, with its way", async () => {
  const found = await complaints({
    "pages.ts": 'export const load = () => import("./Page.svelte");',
    "Page.svelte": '<script lang="ts">\n  import Row from "./Row.svelte";\n</script>\n<Row />',
    "Row.svelte": '<script lang="ts">import { load } from "./pages";</script>\n<p>{load}</p>',
  });
  expect(found).toEqual(["this leads back here: Page.svelte → Row.svelte → pages.ts"]);
});

test("circle of types alone is one, and so is that of a file that passes on", async () => {
  const found = await complaints({
    "house.ts": 'import { Grid } from "./grid";\nexport * from "./plain";\nexport { Grid };',
    "grid.ts": 'import type { Box } from "./house.svelte";\nexport class Grid { box?: Box }',
    "house.svelte.ts": 'export type { Box } from "./house";',
    "plain.ts": "export const plain = 1;",
  });
  expect(found).toEqual(["this leads back here: grid.ts → house.svelte.ts → house.ts"]);
});

test("two ways to one file are no circle, nor is one of others", async () => {
  const found = await complaints({
    "top.ts": 'import "./left";\nimport "./right";\nimport "node:fs";\nimport "./theme.css";',
    "left.ts": 'import "./right";',
    "right.ts": 'import "./left";',
    "theme.css": "",
  });
  expect(found).toEqual([]);
});
