/** Shows the colour of a series beside its name. */
import type { ChartSeries } from './chart-data.ts';

export const Swatch = ({ of: { colour, isAhead } }: { readonly of: ChartSeries }) => (
  <span
    class={`chart-swatch chart-colour-${colour}${isAhead === true ? ' chart-swatch-ahead' : ''}`}
    aria-hidden="true"
  />
);
