/** Has the browser keep a file. */
export function saveFile(name: string, ...[parts, options]: ConstructorParameters<typeof Blob>): void {
  const url = URL.createObjectURL(new Blob(parts, options));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
