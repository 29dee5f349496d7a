/** Stripe.js, loaded from its own host and only where somebody pays with Stripe, as Stripe requires. */

const HOST = "https://js.stripe.com/v3/";

export interface Elements {
  create(kind: "payment"): { mount(place: HTMLElement): void };
}

/** What is to be mended, or the payment as it stands now. */
export interface Confirmation {
  error?: { message?: string };
  paymentIntent?: { id: string; status: string };
}

export interface Stripe {
  elements(wish: { clientSecret: string; appearance?: { theme: "stripe" | "night" } }): Elements;
  /** Leads to `return_url` by way of another page where that is required, and comes back otherwise. */
  confirmPayment(wish: {
    elements: Elements;
    confirmParams: { return_url: string };
    redirect: "if_required";
  }): Promise<Confirmation>;
}

/** Of a payment for which its buyer has done all there is to do. */
const UNDER_WAY = ["succeeded", "processing", "requires_capture"];

/** The payment that Stripe has all of now, by its id. */
export function underWay({ paymentIntent }: Confirmation): string | undefined {
  return paymentIntent && UNDER_WAY.includes(paymentIntent.status) ? paymentIntent.id : undefined;
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
