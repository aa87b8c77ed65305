/**
 * This is how a page that is made by hand is described. It is one folder in pages/, and one entry in
 * pages/index.ts; whatever has no such page is shown by generic/.
 */
import type { ComponentType } from 'preact';
import type { Place } from './place.ts';
import type { SignedIn } from './session.ts';
import type { At } from './spec.ts';

export interface ConsolePage {
  readonly at: At;
  /** Segments of its address below the place; `*` is any one. */
  readonly segments: readonly string[];
  /** Name of the page in the navigation and in the title of the window. */
  readonly title: string;
  /** Group of the navigation that it stands in. Absent: it is not in the navigation by itself. */
  readonly area?: string;
  /** Key of the platform feature that it belongs to; it is in the navigation only while that is on. */
  readonly feature?: string;
  /** Its code is fetched when somebody opens it. */
  readonly load: () => Promise<PageView>;
}

export interface PageProps {
  readonly session: SignedIn;
  readonly place: Place;
}

export type PageView = ComponentType<PageProps>;
