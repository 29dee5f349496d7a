/** Rules that neither the compiler nor svelte-check knows. Layout is Prettier's: no rule here speaks of it. */
import js from "@eslint/js";
import svelte from "eslint-plugin-svelte";
import { defineConfig, globalIgnores } from "eslint/config";
import ts from "typescript-eslint";
import noCircle from "./lint/no-circle.js";
import svelteConfig from "./svelte.config.js";

/**
 * Keeps these files from importing what is in these folders, now or later.
 * @param {string[]} files
 * @param {string[]} folders
 * @param {string} message
 * @returns {import("eslint").Linter.Config}
 */
function apart(files, folders, message) {
  const names = folders.join("|");
  return {
    files,
    rules: {
      "no-restricted-imports": ["error", { patterns: [{ regex: `/(${names})/`, message }] }],
      "no-restricted-syntax": [
        "error",
        { selector: `ImportExpression > Literal[value=/\\/(${names})\\//]`, message },
      ],
    },
  };
}

export default defineConfig(
  globalIgnores(["dist/", "src/api/schema.d.ts"]),
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  js.configs.recommended,
  ts.configs.recommendedTypeChecked,
  svelte.configs.recommended,
  { languageOptions: { parserOptions: { projectService: true, extraFileExtensions: [".svelte"] } } },
  {
    files: ["**/*.svelte", "**/*.svelte.ts"],
    languageOptions: { parserOptions: { parser: ts.parser, svelteConfig } },
  },
  {
    plugins: { onrush: { rules: { "no-circle": noCircle } } },
    rules: {
      eqeqeq: "error",
      "max-lines": ["error", 600],
      "no-console": "error",
      // The compiler knows what there is, in the browser and in Node.
      "no-undef": "off",
      "onrush/no-circle": "error",
      "@typescript-eslint/no-deprecated": "error",
      "@typescript-eslint/switch-exhaustiveness-check": "error",
    },
  },
  {
    // What comes from a component, and what a snippet is given, has a type for svelte-check only.
    files: ["**/*.svelte"],
    rules: {
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  {
    // It takes all that is made within an exported class for something that pages watch.
    files: ["**/*.svelte.ts"],
    rules: { "svelte/prefer-svelte-reactivity": "off" },
  },
  {
    // A test knows what it asked for, and fails where the answer is something else.
    files: ["tests/**", "pictures/**"],
    rules: {
      "@typescript-eslint/no-unsafe-argument": "off",
      "@typescript-eslint/no-unsafe-assignment": "off",
      "@typescript-eslint/no-unsafe-call": "off",
      "@typescript-eslint/no-unsafe-member-access": "off",
      "@typescript-eslint/no-unsafe-return": "off",
    },
  },
  apart(["src/**"], ["tests", "bench", "pictures"], "The pages need no tests."),
  apart(["src/buyer/**"], ["admin", "tests", "bench", "pictures"], "What both need goes into src/lib."),
  apart(["src/admin/**"], ["buyer", "tests", "bench", "pictures"], "What both need goes into src/lib."),
  apart(
    ["src/api/**", "src/i18n/**", "src/lib/**"],
    ["admin", "buyer", "tests", "bench", "pictures"],
    "What is shared knows no page.",
  ),
);
