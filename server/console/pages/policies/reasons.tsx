/** Lists reasons in a row of a table: the first ones at once, and the rest when asked. */
import { sentence } from '../../api.ts';

const AT_ONCE = 2;

export function Reasons({ of }: { readonly of: readonly string[] }) {
  if (of.length === 0) return <span class="muted">–</span>;
  const rest = of.slice(AT_ONCE);
  return (
    <div class="policy-reasons">
      {of.slice(0, AT_ONCE).map((reason, index) => (
        <p key={index}>{sentence(reason)}</p>
      ))}
      {rest.length > 0 && (
        <details>
          <summary>{rest.length} more</summary>
          {rest.map((reason, index) => (
            <p key={index}>{sentence(reason)}</p>
          ))}
        </details>
      )}
    </div>
  );
}
