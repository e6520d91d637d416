import type { ReactNode } from "react";

/** Facts are names and values, one below the other; what is not there is left out. */
export function Facts({ of }: { of: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className="about">
      {of.map(
        ([title, value]) =>
          value !== undefined &&
          value !== null &&
          value !== false &&
          value !== "" && (
            <div key={title}>
              <dt>{title}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** Items are texts that are each a thing of their own: patterns, addresses. */
export function Items({ of, none = "none" }: { of: readonly string[] | undefined; none?: string }) {
  if (!of || of.length === 0) return <span className="soft">{none}</span>;
  return (
    <ul className="items">
      {of.map((text) => (
        <li key={text} className="mono">
          {text}
        </li>
      ))}
    </ul>
  );
}
