/** Live updates of one event: over WebSocket, else SSE, else by asking. docs/design/http.md lists the messages. */
import { path } from "../api/client";
import { askAsVisitor } from "../api/visitor";

export type LiveMessage =
  | { type: "position"; place: string; number: number; position?: number; total: number }
  | { type: "your_turn"; place: string; until: number; arrive_by?: number; pass?: string }
  | { type: "left"; place: string; how: "left" | "lapsed" }
  | { type: "session_ended"; place: string; how: "no_show" | "timeout" | "left" | "completed" }
  | { type: "hold"; booking: string; status: string; until?: number }
  | { type: "hold_expiring"; booking: string; until: number }
  | { type: "seats"; at: number; changed: Record<string, "free" | "held" | "sold" | "blocked"> }
  | { type: "phase"; phase: "scheduled" | "prequeue" | "open" | "paused" | "closed" }
  | { type: "not_in_queue" }
  | { type: "bye" };

/** How messages come just now. */
export type Connection = "connecting" | "websocket" | "sse" | "polling" | "offline";

/** Follows an event until the returned function is called; reconnects by itself. */
export function follow(
  event: string,
  listen: (message: LiveMessage) => void,
  connected: (connection: Connection) => void = () => {},
): () => void {
  let socket: WebSocket | undefined;
  let isOver = false;
  const open = async () => {
    connected("connecting");
    try {
      const { ticket } = await askAsVisitor<{ ticket: string }>(path`/stream-tickets`, { method: "POST" });
      if (isOver) return;
      const url = new URL(path`/events/${event}/ws`, location.href);
      url.protocol = url.protocol.replace("http", "ws");
      url.searchParams.set("ticket", ticket);
      socket = new WebSocket(url);
      socket.onopen = () => connected("websocket");
      socket.onmessage = (message) => listen(JSON.parse(message.data));
      socket.onclose = again;
    } catch {
      again();
    }
  };
  const again = () => {
    if (isOver) return;
    connected("offline");
    setTimeout(open, 1_000 + Math.random() * 1_000);
  };
  void open();
  return () => {
    isOver = true;
    socket?.close();
  };
}
