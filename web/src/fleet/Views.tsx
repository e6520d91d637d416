import { useState } from "react";
import { Button } from "../parts/Button";
import { Link } from "../parts/Link";
import { Menu } from "../parts/Menu";
import { href, useRoute } from "../state/route";
import { useStore } from "../state/store";
import { dropView, saveView, views } from "../state/views";

/** Views are the ways to look at the fleet that somebody gave names: each is a link. */
export function Views() {
  const all = useStore(views);
  const { params } = useRoute();
  const query = params.toString();
  const [name, setName] = useState("");
  const here = all.find((v) => v.query === query);
  const save = () => {
    if (!name.trim()) return;
    saveView({ name: name.trim(), query });
    setName("");
  };
  return (
    <Menu label="Saved views" icon="filter" text={here ? here.name : "Views"} keep>
      {all.map((v) => (
        <span key={v.name} className="saved">
          <Link className="button bare grow" to={href("applications", new URLSearchParams(v.query))} aria-current={v.query === query ? "true" : undefined}>
            {v.name}
          </Link>
          <Button kind="bare" icon="trash" label={`Forget ${v.name}`} onClick={() => dropView(v.name)} />
        </span>
      ))}
      {all.length === 0 && <p className="soft">Give what you look at a name, and come back to it.</p>}
      <form
        className="saved"
        onSubmit={(e) => {
          e.preventDefault();
          save();
        }}
      >
        <input value={name} onChange={(e) => setName(e.target.value)} placeholder="Name of this view" aria-label="Name of this view" />
        <Button type="submit" disabled={!name.trim()}>
          Save
        </Button>
      </form>
    </Menu>
  );
}
