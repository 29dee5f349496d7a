/** Money and lengths of time as they are typed, and as the server counts them. */

/** How many digits a currency has behind the point; 2 where the currency is not one yet. */
export function decimalsOf(currency: string): number {
  try {
    const format = new Intl.NumberFormat("en", { style: "currency", currency });
    return format.resolvedOptions().maximumFractionDigits ?? 2;
  } catch {
    return 2;
  }
}

/** `toMinor(45.5, "EUR")` is 4550. */
export function toMinor(major: number, currency: string): number {
  return Math.round(major * 10 ** decimalsOf(currency));
}

export function toMajor(minor: number, currency: string): number {
  return minor / 10 ** decimalsOf(currency);
}

/** The `step` of a field for money. */
export function stepOf(currency: string): string {
  return String(1 / 10 ** decimalsOf(currency));
}
