/** Reads QR codes from the camera: by the browser's own detector where there is one, else by ours. */
import { partOf } from "../../lib/anew";

interface Detector {
  detect(image: HTMLVideoElement): Promise<{ rawValue: string }[]>;
}

/** Between two looks; a code is held for longer than that. */
const PAUSE_MS = 120;

/**
 * Shows the camera in `video` and tells what it sees there at each look: a code, again and again while
 * it is there, or none. Returns what stops it.
 * @throws {DOMException} if there is no camera to be used, and as `partOf` does.
 */
export async function readCodes(
  video: HTMLVideoElement,
  saw: (code: string | undefined) => void,
): Promise<() => void> {
  if (!navigator.mediaDevices) throw new DOMException("cameras need https", "SecurityError");
  const stream = await navigator.mediaDevices.getUserMedia({
    video: { facingMode: "environment", width: { ideal: 1280 }, height: { ideal: 720 } },
  });
  let isOver = false;
  const stop = () => {
    isOver = true;
    for (const track of stream.getTracks()) track.stop();
    video.srcObject = null;
  };
  try {
    video.srcObject = stream;
    await video.play();
    const detector = await makeDetector();
    void look(detector);
  } catch (error) {
    stop();
    throw error;
  }
  return stop;

  async function look(detector: Detector) {
    while (!isOver) {
      // A frame that cannot be read is like one without a code.
      const codes = await detector.detect(video).catch(() => []);
      if (!isOver) saw(codes[0]?.rawValue);
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

async function makeDetector(): Promise<Detector> {
  const formats = ["qr_code"] as const;
  const own = (globalThis as { BarcodeDetector?: OwnDetector }).BarcodeDetector;
  if (own && (await own.getSupportedFormats()).includes("qr_code")) {
    return new own({ formats });
  }
  const { BarcodeDetector } = await partOf("qr/decode", () => import("qr/decode.js"));
  return new BarcodeDetector({ formats: [...formats] });
}

interface OwnDetector {
  new (options: { formats: readonly string[] }): Detector;
  getSupportedFormats(): Promise<string[]>;
}

/** Keeps the screen on until the returned function is called, where the browser can. */
export function keepAwake(): () => void {
  let lock: WakeLockSentinel | undefined;
  let isOver = false;
  const ask = async () => {
    if (isOver || document.hidden || !("wakeLock" in navigator)) return;
    try {
      lock = await navigator.wakeLock.request("screen");
      if (isOver) await lock.release();
    } catch {
      // The battery is low, or the browser does not want to: the screen goes dark as ever.
    }
  };
  // A page that was hidden has lost it.
  const seen = () => void ask();
  document.addEventListener("visibilitychange", seen);
  seen();
  return () => {
    isOver = true;
    document.removeEventListener("visibilitychange", seen);
    void lock?.release();
  };
}
