/**
 * seated gives each row that is in sight a seat. Who had one keeps it, and who comes takes the seat of one who left: what
 * was drawn there is written over, which costs a browser less than to take it away and to make it anew.
 */
export function seated(before: ReadonlyMap<string, number>, ids: readonly string[]): Map<string, number> {
  const here = new Set(ids);
  const taken = new Set<number>();
  for (const [id, seat] of before) if (here.has(id)) taken.add(seat);
  const now = new Map<string, number>();
  let next = 0;
  for (const id of ids) {
    let seat = before.get(id);
    if (seat === undefined) {
      while (taken.has(next)) next++;
      seat = next++;
    }
    now.set(id, seat);
  }
  return now;
}
