/** Stripe.js, loaded from its own host and only where somebody pays with Stripe, as Stripe requires. */

const HOST = "https://js.stripe.com/v3/";

export interface Elements {
  create(kind: "payment"): { mount(place: HTMLElement): void };
}

export interface Stripe {
  elements(wish: { clientSecret: string; appearance?: { theme: "stripe" | "night" } }): Elements;
  confirmPayment(wish: {
    elements: Elements;
    confirmParams: { return_url: string };
  }): Promise<{ error?: { message?: string } }>;
}

declare global {
  interface Window {
    Stripe?: (publishableKey: string) => Stripe;
  }
}

let loading: Promise<void> | undefined;

export async function loadStripe(publishableKey: string): Promise<Stripe> {
  loading ??= new Promise<void>((resolve, reject) => {
    const script = document.createElement("script");
    script.src = HOST;
    script.onload = () => resolve();
    script.onerror = () => {
      // The next try begins anew.
      script.remove();
      loading = undefined;
      reject(new Error("Stripe.js cannot be loaded"));
    };
    document.head.append(script);
  });
  await loading;
  if (!window.Stripe) throw new Error("Stripe.js did not start");
  return window.Stripe(publishableKey);
}
