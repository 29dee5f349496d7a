/** What who lets people in hears and feels without looking. */

let audio: AudioContext | undefined;

/** Two rising tones for yes, one low and long for no; a buzz in the hand. */
export function signal(isGood: boolean, hasSound: boolean): void {
  navigator.vibrate?.(isGood ? 80 : [250, 100, 250]);
  if (!hasSound) return;
  audio ??= new AudioContext();
  // A browser lets pages sound only once somebody touched them.
  if (audio.state === "suspended") void audio.resume();
  if (isGood) {
    tone(audio, 880, 0, 0.09);
    tone(audio, 1320, 0.1, 0.12);
  } else {
    tone(audio, 180, 0, 0.45);
  }
}

function tone(audio: AudioContext, hertz: number, afterS: number, lengthS: number): void {
  const begin = audio.currentTime + afterS;
  const source = audio.createOscillator();
  const volume = audio.createGain();
  source.frequency.value = hertz;
  volume.gain.setValueAtTime(0.25, begin);
  volume.gain.exponentialRampToValueAtTime(0.001, begin + lengthS);
  source.connect(volume).connect(audio.destination);
  source.start(begin);
  source.stop(begin + lengthS);
}
