/**
 * The keys under which this page asked about tickets, over a reload, until it is known what came of it.
 * Asked again under the same one, the server says what became of that, and of nobody else's scan.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { newKey } from "../../api/client";
// Not for all tabs: a copy shown in another one at the same moment is another scan.
import { tabStore } from "../../lib/store";

interface Asked {
  /** The ticket's code as a digest: whoever reads what is stored has no ticket of it. */
  digest: string;
  key: string;
}

const ASKED = "onrush.check-in.asked";
/** Tickets that are remembered; older ones are forgotten. */
const KEPT = 200;

/** The key to ask about this ticket with, kept before anything is sent; whether it was asked with before. */
export function keyFor(code: string): { key: string; isAgain: boolean } {
  const digest = digestOf(code);
  const open = all();
  const before = open.find((asked) => asked.digest === digest);
  if (before) return { key: before.key, isAgain: true };
  const key = newKey();
  tabStore.write(ASKED, [...open, { digest, key }].slice(-KEPT));
  return { key, isAgain: false };
}

/** It is known what came of this ticket. */
export function forgetKey(code: string): void {
  const digest = digestOf(code);
  const others = all().filter((asked) => asked.digest !== digest);
  tabStore.write(ASKED, others);
}

function all(): Asked[] {
  return tabStore.read<Asked[]>(ASKED) ?? [];
}

function digestOf(code: string): string {
  return bytesToHex(sha256(utf8ToBytes(code)));
}
