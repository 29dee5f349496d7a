/** An ESLint rule: no file imports itself by way of others. Imports of types count, and so do those of components. */
import { existsSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import ts from "typescript";

/** @typedef {{ readAtMs: number, imports: string[] }} Known */

/**
 * What a file imports, as long as that stays as it is: an editor keeps the rule loaded.
 * @type {Map<string, Known>}
 */
const files = new Map();

/** @type {import("eslint").Rule.RuleModule} */
export default {
  meta: {
    type: "problem",
    schema: [],
    messages: { circle: "this leads back here: {{ way }}" },
  },
  create(context) {
    const from = context.filename;
    /** @param {import("eslint").Rule.Node & { source?: import("estree").Expression | null }} node */
    function look({ source }) {
      if (source?.type !== "Literal" || typeof source.value !== "string") return;
      const first = resolve(from, source.value);
      const way = first && wayBack(first, from);
      if (way) {
        const names = way.map((file) => path.relative(path.dirname(from), file));
        context.report({ node: source, messageId: "circle", data: { way: names.join(" → ") } });
      }
    }
    return {
      ImportDeclaration: look,
      ImportExpression: look,
      ExportNamedDeclaration: look,
      ExportAllDeclaration: look,
    };
  },
};

/**
 * A shortest way from one file to another along imports, both included.
 * @param {string} first
 * @param {string} last
 */
function wayBack(first, last) {
  /** @type {Map<string, string | undefined>} */
  const cameFrom = new Map([[first, undefined]]);
  for (const file of cameFrom.keys()) {
    if (file === last) {
      const way = [file];
      for (let step = cameFrom.get(file); step; step = cameFrom.get(step)) way.unshift(step);
      return way;
    }
    for (const next of importsOf(file)) if (!cameFrom.has(next)) cameFrom.set(next, file);
  }
  return undefined;
}

/** @param {string} file */
function importsOf(file) {
  const changedAtMs = statSync(file).mtimeMs;
  const known = files.get(file);
  if (known?.readAtMs === changedAtMs) return known.imports;
  const text = readFileSync(file, "utf8");
  const imports = ts
    .preProcessFile(file.endsWith(".svelte") ? scriptsOf(text) : text)
    .importedFiles.map(({ fileName }) => resolve(file, fileName))
    .filter((found) => found !== undefined);
  files.set(file, { readAtMs: changedAtMs, imports });
  return imports;
}

/** @param {string} component */
function scriptsOf(component) {
  return Array.from(component.matchAll(/<script[^>]*>(.*?)<\/script>/gs), ([, script]) => script).join("\n");
}

/**
 * The file of ours that is imported by this name, if it has imports itself.
 * @param {string} from
 * @param {string} name
 */
function resolve(from, name) {
  if (!name.startsWith(".")) return undefined;
  const to = path.resolve(path.dirname(from), name);
  return [`${to}.ts`, to].find((file) => /\.(ts|svelte)$/.test(file) && existsSync(file));
}
