// The collector's clock: what "now" means in every question, however wrong the browser's clock is.
let ahead_s = 0;

export function setCollectorNow(now_s: number): void {
  ahead_s = now_s - Date.now() / 1000;
}

export function now(): number {
  return Date.now() / 1000 + ahead_s;
}
