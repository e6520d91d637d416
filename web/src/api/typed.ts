import { ask } from "./client";

export interface Typed {
  objects: Record<string, unknown>[];
  problem?: string;
}

/** readYAML has the server read what somebody typed: it reads as kubectl does, and no other reader could say so. */
export const readYAML = (text: string) => ask<Typed>("api/v1/yaml", {}, { method: "POST", body: { text } });

/** readOne is the one object of a text; what is wrong with it is an error for people. */
export async function readOne(text: string, kind: string): Promise<Record<string, unknown>> {
  const { objects, problem } = await readYAML(text);
  if (problem) throw new Error(problem.replace(/^parsing "the text": /, ""));
  const [first, ...rest] = objects;
  if (!first) throw new Error("There is nothing in it yet.");
  if (rest.length > 0) throw new Error(`There are ${objects.length} objects in it; one at a time.`);
  if (kind && first["kind"] !== kind) throw new Error(`It is of kind ${String(first["kind"])}, and ${kind} is what is made here.`);
  return first;
}
