import { Dialog } from "../parts/Dialog";
import { helpOpen } from "../state/commands";

const groups = [
  {
    title: "Everywhere",
    keys: [
      ["Ctrl K or ⌘ K", "Find an application, or do something"],
      ["/", "Search in what is shown"],
      ["g a", "To the applications"],
      ["g s  g p", "To the ApplicationSets, the projects"],
      ["g c  g r", "To the clusters, the repositories"],
      ["g e  g w", "To the settings, to why you can not …"],
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
      ["m", "Mark, or no more"],
      ["n", "New application"],
    ],
  },
  {
    title: "An application",
    keys: [
      ["1 – 9, 0", "The views, in their order"],
      ["s", "Sync: see the plan first"],
      ["r", "Look at Git and the cluster again"],
      ["e", "Edit"],
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
                  {key.split("  ").map((k) => (
                    <kbd key={k}>{k}</kbd>
                  ))}
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
