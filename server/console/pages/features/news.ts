/** Tells of switches that others moved: each reading of the table is compared with the one before. */
import { useEffect } from 'preact/hooks';
import type { PlatformFeature } from '@svc/sdk';
import { announce } from '../../announce.ts';
import type { LastGood } from '../../last-good.ts';
import { counted } from '../../words.ts';
import { isOwn, movedElsewhere } from './change.ts';
import { markFresh, type Features } from './features.ts';
import { actorName, position } from './words.ts';

export function useNews({ data }: LastGood<Features>): void {
  useEffect(() => {
    let before: Features | undefined;
    // It is told at once, and not after the next drawing: whether a change is this page's own is known only
    // now.
    return data.subscribe((now) => {
      const was = before;
      before = now;
      if (now !== undefined && was !== undefined) compare(now, was);
    });
  }, []);
}

function compare(now: Features, before: Features): void {
  const old = new Map(before.map((feature) => [feature.key, feature]));
  const changed = now.filter((feature) => {
    const was = old.get(feature.key);
    return (
      was?.revision !== feature.revision || was.enabled !== feature.enabled || was.reason !== feature.reason
    );
  });
  markFresh(changed.map(({ key }) => key));
  const moved = changed.filter(({ key, revision }) => old.get(key)?.revision !== revision && !isOwn(key));
  for (const feature of moved) movedElsewhere(feature);
  const others = changed.filter(({ key }) => !isOwn(key)).length - moved.length;
  const news = moved.map(describe).join(' ');
  // One announcement for all that came together.
  if (news !== '')
    announce(
      others > 0 ? `${news} ${counted(others, 'more feature', 'more features')} changed with it.` : news,
    );
}

function describe({ key, state, lastChange }: PlatformFeature): string {
  const who = lastChange === undefined ? 'Somebody' : actorName(lastChange.actor);
  return `${who} turned ${position(state)} ${key}.`;
}
