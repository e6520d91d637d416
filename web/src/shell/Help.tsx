import { Dialog } from "../parts/Dialog";
import { helpOpen } from "../state/commands";

const groups = [
  {
    title: "Everywhere",
    keys: [
      ["Ctrl K or ⌘ K", "Find an application, or do something"],
      ["/", "Search in what is shown"],
      ["g a", "To the applications"],
      ["?", "This list"],
      ["Esc", "Close what is open"],
    ],
  },
  {
    title: "Applications",
    keys: [
      ["j  k", "Down, up"],
      ["Enter", "Open"],
      ["v", "Table, tiles, map"],
      ["x", "Take all filters away"],
    ],
  },
  {
    title: "An application",
    keys: [
      ["1 – 8", "The views, in their order"],
      ["s", "Sync: see the plan first"],
      ["r", "Look at Git and the cluster again"],
      ["j  k  h  l", "In the graph: down, up, left, right"],
    ],
  },
] as const;

export function Help() {
  return (
    <Dialog title="Keyboard shortcuts" onClose={() => helpOpen.set(false)}>
      {groups.map((g) => (
        <section key={g.title} className="keys">
          <h3>{g.title}</h3>
          <dl>
            {g.keys.map(([key, what]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{what}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
