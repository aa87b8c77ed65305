/** What is said of a page that is not there, and of one that may not be known to be there. */
import { follow } from './router.ts';

export function Missing() {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        <a href="/console/" onClick={follow}>
          Go to the beginning
        </a>
      </p>
    </>
  );
}
