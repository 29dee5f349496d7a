/** The QR codes of tickets, drawn here from what the server signed: no ticket needs a request of its own. */
import encodeQR from "qr";

/** What a code looks like in a square of `side` modules: it is black on white. */
export interface Code {
  side: number;
  /** Lines as thick as a module, as SVG's paths have them. */
  lines: string;
}

/** The white around a code that scanners need, in its modules. */
const MARGIN = 4;

/** A ticket's code, with as much correction and margin as the server's drawing has. */
export function drawCode(text: string): Code {
  const rows = encodeQR(text, "raw", { ecc: "medium", border: MARGIN });
  let lines = "";
  for (const [y, row] of rows.entries()) {
    for (let x = row.indexOf(true); x !== -1;) {
      const end = row.indexOf(false, x);
      lines += `M${x} ${y}.5H${end}`;
      x = row.indexOf(true, end);
    }
  }
  return { side: rows.length, lines };
}

/** White paper of that side, as a path. */
export function paper({ side }: Code): string {
  return `M0 0H${side}V${side}H0Z`;
}
