/** Beside the page, which stays alive while a hundred thousand lots are computed. */
import { drawAgain, type Published } from "./draw";

addEventListener("message", (message: MessageEvent<Published>) => {
  postMessage(drawAgain(message.data));
});
