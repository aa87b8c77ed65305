/** Shows a page about the place that the address names, or else about the first there is. */
import type { ComponentChildren } from 'preact';
import { Missing } from './missing.tsx';
import { usePlace, type Place } from './place.ts';
import { Unread } from './reading.tsx';
import { StaleNotice } from './stale-notice.tsx';

interface PlacePageProps {
  readonly title: string;
  /** `stale` says so where the place may no longer be as it is shown. */
  readonly children: (place: Place, stale: ComponentChildren) => ComponentChildren;
}

export function PlacePage({ title, children }: PlacePageProps) {
  const place = usePlace();
  const known = place.data.value;
  if (known?.missing === true) return <Missing />;
  if (known !== undefined) return <>{children(known, <StaleNotice of={place} />)}</>;
  return (
    <>
      <h1>{title}</h1>
      <Unread of={place} what="your projects" />
    </>
  );
}
