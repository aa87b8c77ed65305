import { featureOf } from './features.ts';
import { Key } from './key.tsx';
import { goToRow } from './rows.ts';

/** Keys as links to their rows, joined by commas. */
export function RowLinks({ keys }: { readonly keys: readonly string[] }) {
  return (
    <>
      {keys.map((key, index) => (
        <span key={key}>
          {index > 0 && ', '}
          {featureOf(key) !== undefined ? (
            <a
              class="row-link"
              href={`#${encodeURIComponent(key)}`}
              onClick={(event) => {
                event.preventDefault();
                goToRow(key);
              }}
            >
              <Key of={key} />
            </a>
          ) : (
            <code>{key}</code>
          )}
        </span>
      ))}
    </>
  );
}
