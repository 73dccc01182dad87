// From a value to a colour. Brightness alone tells the order, so every kind of colour vision reads it: on dark ground
// the ramp is cividis, on light ground it goes from the ground to dark blue, so that what is large always stands out.
const kSteps = 128;
type Ramp = [number, number, number][];

const kOnDark: Ramp = [
  [0, 34, 78], [18, 53, 112], [59, 73, 108], [87, 93, 109], [112, 113, 115],
  [138, 134, 120], [165, 156, 116], [195, 179, 105], [225, 204, 85], [254, 232, 56],
];
const kOnLight: Ramp = [[228, 234, 240], [187, 204, 223], [138, 166, 202], [88, 124, 175], [42, 81, 136], [0, 34, 78]];

// share in 0..1
export function heatColour(share: number, light: boolean): string {
  const ramp = light ? kOnLight : kOnDark;
  const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
  const low = ramp[Math.floor(at)]!;
  const high = ramp[Math.ceil(at)]!;
  return `rgb(${low.map((value, i) => Math.round(value + (high[i]! - value) * (at % 1))).join(',')})`;
}

// The whole scale, finely enough that no step is seen.
export function heatColours(light: boolean): string[] {
  return Array.from({ length: kSteps }, (_, i) => heatColour(i / (kSteps - 1), light));
}

// Where the scale ends: one value in two hundred may lie beyond, so that a single spike does not darken all others.
export function scaleTop(values: Float32Array): number {
  const known = values.filter((value) => value > 0).sort();
  if (known.length === 0) return 0;
  return known[Math.min(known.length - 1, Math.floor(known.length * 0.995))]!;
}
