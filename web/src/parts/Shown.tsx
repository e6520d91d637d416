import { Button } from "./Button";
import { Copy } from "./Copy";
import { Dialog } from "./Dialog";

/** Shown is a secret that is told once: nobody can read it again. */
export function Shown({ title, text, onClose }: { title: string; text: string; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose} footer={<Button kind="main" onClick={onClose}>I have it</Button>}>
      <p>It is shown this once. Whoever has it acts in its name.</p>
      <div className="code">
        <pre tabIndex={0} aria-label="The secret itself" className="wrapped">
          {text}
        </pre>
        <Copy text={text} label="Copy it" />
      </div>
    </Dialog>
  );
}
