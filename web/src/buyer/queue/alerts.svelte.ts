/**
 * What calls a visitor who looks elsewhere when it is their turn: a sound and a notification, both
 * only if asked for.
 */
import { store } from "../../lib/store";

const STORED = "onrush.sound";
/** Two rising tones, in hertz. */
const TONES = [659, 880, 1_319];
const TONE_S = 0.18;

type Sound = "off" | "on" | "asleep";
type Notify = "impossible" | "off" | "on" | "denied";

function notifyNow(): Notify {
  if (!("Notification" in window) || !window.isSecureContext) return "impossible";
  if (Notification.permission === "granted") return "on";
  return Notification.permission === "denied" ? "denied" : "off";
}

export class Alerts {
  sound = $state<Sound>("off");
  notify = $state<Notify>(notifyNow());
  #audio: AudioContext | undefined;

  /** Wakes the sound that was chosen before a reload, as far as the browser lets us. */
  start(): void {
    if (store.get(STORED) === null) return;
    this.#audio = new AudioContext();
    this.#audio.onstatechange = () => this.#look();
    this.#look();
    addEventListener("pointerdown", this.#wake);
    addEventListener("keydown", this.#wake);
  }

  stop(): void {
    removeEventListener("pointerdown", this.#wake);
    removeEventListener("keydown", this.#wake);
    void this.#audio?.close();
    this.#audio = undefined;
  }

  readonly #wake = (): void => {
    void this.#audio?.resume();
  };

  #look(): void {
    if (!this.#audio) this.sound = "off";
    else this.sound = this.#audio.state === "running" ? "on" : "asleep";
  }

  /** Called by a click: browsers let no page make noise by itself. */
  async switchSound(): Promise<void> {
    if (this.sound === "on") {
      store.remove(STORED);
      this.stop();
      this.#look();
      return;
    }
    store.set(STORED, "on");
    if (!this.#audio) this.start();
    await this.#audio?.resume();
    this.#look();
    this.#ring();
  }

  /** Called by a click; `sample` is shown at once, so that it is seen where it will appear. */
  async switchNotify(title: string, sample: string): Promise<void> {
    await Notification.requestPermission();
    this.notify = notifyNow();
    if (this.notify === "on") this.#show(title, sample);
  }

  call(title: string, body: string): void {
    if (this.sound === "on") this.#ring();
    if (this.notify === "on" && document.hidden) this.#show(title, body);
  }

  #show(title: string, body: string): void {
    try {
      // One tag: several tabs tell it once.
      const shown = new Notification(title, { body, tag: "onrush", icon: "/icon.svg" });
      shown.onclick = () => {
        window.focus();
        shown.close();
      };
    } catch {
      // Chrome on Android shows notifications of service workers only.
      this.notify = "impossible";
    }
  }

  #ring(): void {
    const audio = this.#audio;
    if (!audio) return;
    for (const [index, frequency] of TONES.entries()) {
      const at = audio.currentTime + index * TONE_S;
      const tone = audio.createOscillator();
      const volume = audio.createGain();
      tone.frequency.value = frequency;
      volume.gain.setValueAtTime(0.0001, at);
      volume.gain.exponentialRampToValueAtTime(0.3, at + 0.02);
      volume.gain.exponentialRampToValueAtTime(0.0001, at + 2 * TONE_S);
      tone.connect(volume).connect(audio.destination);
      tone.start(at);
      tone.stop(at + 2 * TONE_S);
    }
  }
}
