/** Shows people without a page of their own what is switched on on this installation. */
import { Icon } from '../../icons.tsx';
import { offers, type SignedIn } from '../../session.ts';

export function Home({ session }: { readonly session: SignedIn }) {
  const keys = Object.keys(session.resolved).filter((key) => offers(session, key));
  return (
    <>
      <h1>What this installation offers</h1>
      <p class="lead">
        You are signed in as {session.who.email}. What has a page here is named above; everything else is done
        with <code>svc</code> and the SDK.
      </p>
      {keys.length === 0 ? (
        <p>No platform feature is switched on.</p>
      ) : (
        <ul class="offer">
          {keys.map((key) => (
            <li key={key}>
              <Icon of="on" />
              <code>{key}</code>
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
