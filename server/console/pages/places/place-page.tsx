/** This is the first page of the account and of the staff, and shows what is in it. */
import { groupsAt, servicesAt } from '../../navigation.ts';
import type { PageProps } from '../../page.ts';
import { follow } from '../../router.ts';

export function PlacePage({ place: { at, base }, session }: PageProps) {
  const groups = [
    ...groupsAt({ at, base, teamId: undefined }, session),
    { title: 'More', links: servicesAt(at, base) },
  ].filter(({ links }) => links.length > 0);
  return (
    <>
      <h1>{at === 'staff' ? 'Staff' : 'Account'}</h1>
      <div class="index">
        {groups.map(({ title, links }) => (
          <section key={title}>
            <h2>{title}</h2>
            <ul>
              {links.map((link) => (
                <li key={link.href}>
                  <a href={link.href} onClick={follow}>
                    {link.title}
                  </a>
                </li>
              ))}
            </ul>
          </section>
        ))}
      </div>
    </>
  );
}
