/**
 * One connection that messages come over. It is used once: a lost one is replaced by a new one with
 * a new ticket.
 */
import { path } from "../../api/client";
import type { LiveMessage } from "./message";

export type StreamKind = "websocket" | "sse";

export interface Stream {
  /**
   * The messages that came with the opening; `undefined` if it did not open in time. Browsers do not
   * tell why: a 503 looks like a proxy that lets no stream through.
   */
  readonly opened: Promise<LiveMessage[] | undefined>;
  close(): void;
}

interface Listener {
  message(message: LiveMessage): void;
  /** Called once if an open stream ends by itself. */
  ended(): void;
}

/** A proxy that swallows a stream does so silently. */
const OPENING_MS = 6_000;
/** An event source tells nothing of types that are not named. */
const TYPES = Object.keys({
  position: true,
  your_turn: true,
  left: true,
  session_ended: true,
  slot_kept: true,
  hold: true,
  hold_expiring: true,
  seats: true,
  phase: true,
  admission: true,
  not_in_queue: true,
  bye: true,
} satisfies Record<LiveMessage["type"], true>);

export function openStream(kind: StreamKind, event: string, ticket: string, listener: Listener): Stream {
  let resolve: (first: LiveMessage[] | undefined) => void = () => {};
  const opened = new Promise<LiveMessage[] | undefined>((done) => (resolve = done));
  let isOpen = false;
  let isClosed = false;
  let close = (): void => {};
  const end = () => {
    if (isClosed) return;
    isClosed = true;
    clearTimeout(patience);
    close();
    resolve(undefined);
    if (isOpen) listener.ended();
  };
  const patience = setTimeout(end, OPENING_MS);
  const hear = (text: string) => {
    if (isClosed) return;
    const message = JSON.parse(text) as LiveMessage;
    if (isOpen) {
      listener.message(message);
      return;
    }
    // Only a message proves that the way is open: some proxies accept a stream and never pass anything on.
    isOpen = true;
    clearTimeout(patience);
    resolve([message]);
  };
  close = kind === "websocket" ? webSocket(event, ticket, hear, end) : eventSource(event, ticket, hear, end);
  return {
    opened,
    close() {
      isClosed = true;
      clearTimeout(patience);
      close();
      resolve(undefined);
    },
  };
}

type Hear = (text: string) => void;

function webSocket(event: string, ticket: string, hear: Hear, end: () => void): () => void {
  const url = new URL(path`/events/${event}/ws`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  url.searchParams.set("ticket", ticket);
  const socket = new WebSocket(url);
  socket.onmessage = (message) => hear(message.data as string);
  socket.onclose = end;
  return () => socket.close();
}

function eventSource(event: string, ticket: string, hear: Hear, end: () => void): () => void {
  const url = new URL(path`/events/${event}/stream`, location.href);
  url.searchParams.set("ticket", ticket);
  const source = new EventSource(url);
  for (const type of TYPES) source.addEventListener(type, (message) => hear(message.data as string));
  // It would connect again by itself, with a ticket that works once.
  source.onerror = end;
  return () => source.close();
}
