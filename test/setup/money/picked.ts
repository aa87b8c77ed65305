/** Returns the values of these fields of each row, in this order. */
export function picked<Row, Field extends keyof Row>(rows: readonly Row[], ...fields: readonly Field[]) {
  return rows.map((row) => fields.map((field) => row[field]));
}
