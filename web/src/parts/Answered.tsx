import type { ReactNode } from "react";
import type { Answer } from "../state/ask";
import { Failure, Loading, Stale } from "./States";

interface Props<T> {
  answer: Answer<T> & { again: () => void };
  what: string;
  children: (data: T) => ReactNode;
}

/** Answered shows an answer, or where it is: on its way, failed, or older than it should be. */
export function Answered<T>({ answer, what, children }: Props<T>) {
  const { data, error, again } = answer;
  if (data === undefined) return error ? <Failure error={error} what={what} again={again} /> : <Loading what={what} />;
  return (
    <>
      {error && <Stale error={error} again={again} />}
      {children(data)}
    </>
  );
}
