/**
 * This is how a page of the console is described. A page is one folder in pages/, and one entry
 * in pages/index.ts.
 */
import type { ComponentType } from 'preact';
import type { SignedIn } from './session.ts';

export interface ConsolePage {
  /** Below `/console`; the folder's name. */
  readonly path: string;
  /** Name of the page in the navigation and in the title of the window. */
  readonly title: string;
  readonly audience: 'staff' | 'everybody';
  /** Key of the platform feature that it belongs to; it is in the navigation only while that is on. */
  readonly feature?: string;
  /**
   * Tells if the server answers what the page shows. It is in the navigation only then, and says itself when
   * it is not there.
   */
  readonly isThere?: () => Promise<boolean>;
  /** Its code is fetched when somebody opens it. */
  readonly load: () => Promise<PageView>;
}

export type PageView = ComponentType<{ readonly session: SignedIn }>;
