// What the colours of a heat map say.
import { heatColour } from './heat_scale';
import type { Theme } from './theme';

const kSteps = 24;

interface Props {
  top: number;
  theme: Theme;
  text: (value: number) => string;
  bySeverity: boolean;
}

export function HeatLegend({ top, theme, text, bySeverity }: Props) {
  const steps = Array.from({ length: kSteps }, (_, i) => heatColour(i / (kSteps - 1), theme === 'light'));
  return (
    <div class="legend" aria-label="Legend">
      <span>0</span>
      <span class="ramp">{steps.map((background) => <i style={{ background }} />)}</span>
      {top > 0 && <span>{text(top)} or more</span>}
      <span class="box hatched" /><span>not watched, or in part{bySeverity && ', or still learning what is usual'}</span>
      <span class="diamond">◆</span><span>anomaly</span>
    </div>
  );
}
