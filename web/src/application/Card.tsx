import { memo } from "react";
import { middle, type Placed } from "../model/graph";
import { Icon } from "../parts/Icon";
import { Mark } from "../parts/Status";
import { margin, measure } from "./Picture";

interface Props {
  at: Placed;
  onOpen: (at: Placed) => void;
  /** inside says whether the objects of an application are shown, and onInside shows them or no more. */
  inside?: boolean | undefined;
  onInside?: ((at: Placed) => void) | undefined;
}

/** Card is one thing of a picture. */
export const Card = memo(function Card({ at, onOpen, inside, onInside }: Props) {
  const { thing } = at;
  const { node } = thing;
  const well = node.health?.status === "Healthy";
  const info = node.info?.find((i) => i.name === "Ready" || i.name === "Containers" || (!well && i.name === "Status Reason"));
  const place = { left: margin + at.x, top: margin + at.y };
  return (
    <>
      <button
        type="button"
        className={`node${thing.sync === "OutOfSync" ? " drifted" : ""}${thing.many ? " many" : ""}`}
        style={{ ...place, width: measure.width, height: measure.height }}
        onClick={() => onOpen(at)}
        data-depth={at.depth}
        title={`${node.kind} ${node.namespace ? `${node.namespace}/` : ""}${node.name}${node.health?.message ? `: ${node.health.message}` : ""}`}
      >
        <span className="node-kind">
          {thing.hook && <Icon name="hook" size={12} />}
          {node.kind}
          {thing.wave !== undefined && <span className="wave">wave {thing.wave}</span>}
          {thing.prune && <span className="wave">not in Git</span>}
          {thing.orphan && <span className="wave">of nobody</span>}
        </span>
        <span className="node-name">{middle(node.name, info ? 16 : 20)}</span>
        <span className="node-marks">
          {info && <span className="soft">{info.value}</span>}
          {node.health?.status && <Mark health={node.health.status} />}
          {thing.sync && <Mark sync={thing.sync} />}
        </span>
      </button>
      {onInside && (
        <button
          type="button"
          className="node-inside"
          style={{ left: place.left + measure.width - 10, top: place.top + measure.height / 2 - 11 }}
          aria-expanded={inside}
          aria-label={`Objects of ${node.name}`}
          title={inside ? "Hide its objects" : "Show its objects here"}
          onClick={() => onInside(at)}
        >
          <Icon name={inside ? "minus" : "plus"} size={12} />
        </button>
      )}
    </>
  );
});
