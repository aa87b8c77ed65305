/**
 * This is the one rule of acts that a role may not do: they are not offered, and who reads the page is told
 * which role does them. The server decides; this only spares people the refusal.
 */
import type { ComponentChildren } from 'preact';
import { mayIn, ROLES } from '../session.ts';
import type { Role } from '../spec.ts';

interface Act {
  readonly title: string;
  readonly role?: Role;
}

/** Says of acts that are not offered which role does them. */
export function Lacking({ acts }: { readonly acts: readonly Act[] }) {
  const told = ROLES.flatMap((role) => {
    const titles = acts.filter((act) => act.role === role).map(({ title }) => title);
    return titles.length === 0 ? [] : [`Needs the role ${role}: ${titles.join(', ')}.`];
  });
  return told.length === 0 ? null : <p class="muted lacking">{told.join(' ')}</p>;
}

interface ForRoleProps {
  readonly teamId: string;
  readonly least: Role;
  /** Says what the children do, to who may not. Absent: it is said elsewhere on the page. */
  readonly acts?: string;
  readonly children: ComponentChildren;
}

export function ForRole({ teamId, least, acts, children }: ForRoleProps) {
  if (mayIn(teamId, least)) return <>{children}</>;
  return acts === undefined ? null : <Lacking acts={[{ title: acts, role: least }]} />;
}
