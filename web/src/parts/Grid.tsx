import type { ReactNode } from "react";
import { useGrowing } from "./Some";

/** Column says what of a thing stands where; on a narrow screen wide columns are left out, or a row becomes a card. */
export interface Column<T> {
  title: string;
  cell: (item: T) => ReactNode;
  /** minor columns are left out where there is little room. */
  minor?: boolean;
  /** end puts numbers below each other. */
  end?: boolean;
}

interface Props<T> {
  label: string;
  items: readonly T[];
  columns: readonly Column<T>[];
  keyOf: (item: T) => string;
}

/** Grid is a plain table, for lists of some hundreds: of what there are thousands, Rows draws what is in sight. A list without anything at all has a notice of its own. */
export function Grid<T>({ label, items, columns, keyOf }: Props<T>) {
  const classOf = (c: Column<T>) => [c.minor ? "minor" : "", c.end ? "end" : ""].join(" ").trim() || undefined;
  const [count, more] = useGrowing(items.length, 200);
  return (
    <div className="grid-box">
      <table className="grid" aria-label={label}>
        <thead>
          <tr>
            {columns.map((c) => (
              <th key={c.title} scope="col" className={classOf(c)}>
                {c.title || <span className="aside">What can be done</span>}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {items.slice(0, count).map((item) => (
            <tr key={keyOf(item)}>
              {columns.map((c) => (
                <td key={c.title} className={classOf(c)}>
                  {c.cell(item)}
                </td>
              ))}
            </tr>
          ))}
          {items.length === 0 && (
            <tr>
              <td colSpan={columns.length} className="soft">
                Nothing fits what is searched for.
              </td>
            </tr>
          )}
        </tbody>
      </table>
      {more}
    </div>
  );
}
