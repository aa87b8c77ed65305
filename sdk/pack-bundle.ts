/** Most bytes of a bundle that is sent as it is. */
const BYTES_MAX = 2_359_296;
/** A call takes no more arguments than some ten thousands. */
const PIECE = 32_768;

/**
 * Returns what `artifacts.upload` takes as `bundle`: the text of the file as it is, or, of one that is longer
 * than 2,359,296 bytes, base64 of its gzip. The server says what is wrong with one that is still too long.
 */
export async function packBundle(text: string): Promise<string> {
  const file = new Blob([text]);
  if (file.size <= BYTES_MAX) return text;
  const packed = file.stream().pipeThrough(new CompressionStream('gzip'));
  const bytes = new Uint8Array(await new Response(packed).arrayBuffer());
  let binary = '';
  for (let at = 0; at < bytes.length; at += PIECE)
    binary += String.fromCharCode(...bytes.subarray(at, at + PIECE));
  return btoa(binary);
}
