import { linkOf } from './words.ts';

/** As the runner reported it, letter for letter; a link only when it is one of the web. */
export function Address({ address }: { readonly address: string | undefined }) {
  if (address === undefined) return <span class="muted">–</span>;
  const href = linkOf(address);
  if (href === undefined) return <span class="address">{address}</span>;
  return (
    <a class="address" href={href} rel="noopener noreferrer" target="_blank">
      {address}
      <span class="visually-hidden"> (opens in a new tab)</span>
    </a>
  );
}
