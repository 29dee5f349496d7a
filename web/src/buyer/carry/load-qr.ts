/** The part that draws QR codes, loaded when there is one to show. */
import { partOf } from "../../lib/anew";

/** @throws as `partOf` does, which may have the page loaded anew: what may not be lost is asked for after. */
export const loadQr = () => partOf("qr", () => import("qr"));
