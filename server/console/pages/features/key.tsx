/** A feature's key, which may break after its dots and underscores and nowhere else. */
export function Key({ of }: { readonly of: string }) {
  return (
    <>
      {of.split(/(?<=[._])/).map((part, index) => (
        <span key={index} class="key-part">
          {index > 0 && <wbr />}
          {part}
        </span>
      ))}
    </>
  );
}
