import { useLayoutEffect, useRef, type ReactNode } from "react";
import { Button } from "./Button";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
  size?: "small" | "wide" | "side";
  /** bare leaves out the heading, for a dialog that begins with a field. */
  bare?: boolean;
}

/** Dialog is the browser's own: it keeps the focus in, gives it back, and closes on Escape. */
export function Dialog({ title, onClose, children, footer, size = "small", bare = false }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  // Before anything is painted, so that what is typed at once arrives.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (dialog && !dialog.open) dialog.showModal();
    // The first thing in it is the button that closes it, which is not what somebody came for; a bare one begins with its field.
    if (bare) dialog?.querySelector("input")?.focus();
    else dialog?.focus();
    return () => dialog?.close();
  }, [bare]);
  return (
    <dialog
      ref={ref}
      className={`dialog ${size}`}
      tabIndex={-1}
      aria-label={title}
      onCancel={(e) => {
        e.preventDefault();
        onClose();
      }}
      onMouseDown={(e) => e.target === ref.current && onClose()}
    >
      <div className="dialog-in">
        {!bare && (
          <header className="dialog-head">
            <h2>{title}</h2>
            <Button kind="bare" icon="close" label="Close" onClick={onClose} />
          </header>
        )}
        <div className="dialog-body">{children}</div>
        {footer && <footer className="dialog-foot">{footer}</footer>}
      </div>
    </dialog>
  );
}
