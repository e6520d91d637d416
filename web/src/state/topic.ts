import { invalidate, useAsk } from "./ask";
import { onTopic } from "./live";

export type Topic = "applicationsets" | "projects" | "clusters" | "repositories";

onTopic((topic) => invalidate(`topic:${topic}:`));

/** useTopic asks something that is asked again whenever anything of its kind changes. */
export const useTopic = <T>(topic: Topic, what: string, read: () => Promise<T>) => useAsk(`topic:${topic}:${what}`, read);

/** topicChanged asks anew after a change of our own, so that nobody waits for the stream. */
export const topicChanged = (topic: Topic) => invalidate(`topic:${topic}:`);
