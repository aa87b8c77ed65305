/** The first page of a team. */
import type { PageProps } from '../../page.ts';

export function Home({ place: { team } }: PageProps) {
  return <h1>{team?.name}</h1>;
}
