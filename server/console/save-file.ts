/** Has the browser keep what was downloaded. */

const TAR = [0x75, 0x73, 0x74, 0x61, 0x72];
const TAR_AT = 257;

/** Returns the end of an address as the name of a file; an archive says that it is one. */
export function fileName(path: string, bytes: Uint8Array): string {
  const name = path.slice(path.lastIndexOf('/') + 1);
  const isTar = TAR.every((byte, index) => bytes[TAR_AT + index] === byte);
  return isTar && !name.includes('.') ? `${name}.tar` : name;
}

export function saveFile(name: string, ...[parts, options]: ConstructorParameters<typeof Blob>): void {
  const url = URL.createObjectURL(new Blob(parts, options));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
